import { styleText } from 'node:util';
import { escaped, escapedLines } from '../escaped.js';
import { parseArguments, WrongArguments } from './arguments.js';
import { EVERYWHERE, Failure, helpOf, helpOfTopic, type Command, type Topic } from './command.js';
import { completionFor, SHELLS } from './completion.js';
import { didYouMean, nearest } from './nearest.js';
import { linesOf, type Page, type Text } from './text.js';

/** Definition of a program. */
export interface Program {
  /** The name users type. */
  readonly name: string;
  /** Output of `--version`. */
  readonly version: string;
  /**
   * Commands by name, of one or two words. Each is loaded only when called, so that none waits for the modules of another. Help,
   * completion and suggestions are made from this table.
   */
  readonly commands: Readonly<Record<string, () => Promise<Command>>>;
  /** Flags that many commands share, by the name under which `help` explains them. @default none */
  readonly topics?: Readonly<Record<string, Topic>>;
  /** Whether an error, other than a `WrongArguments`, is about an argument. */
  isAboutArguments(error: unknown): boolean;
  /** Returns an error as one sentence for people. @default its message */
  readonly messageOf?: (error: Error) => string;
}

/** Runs the program with the arguments of this process. */
export async function startProgram(program: Program): Promise<void> {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // The reader of a pipe may be gone, as with `head`. A server continues regardless, even when a disk is full.
    if (error.code === 'EPIPE') return;
    process.stderr.write(`${program.name}: cannot write to standard output: ${error.message}\n`);
  });
  process.stderr.on('error', () => undefined); // nowhere left to report it
  const commands = { ...program.commands, completion: async () => completionOf(program) };
  process.exitCode = await runProgram({ ...program, commands }, process.argv.slice(2));
}

/** Writes a line for people to standard error. As with all output, control characters are escaped, whoever wrote them. */
export function printNote(name: string, message: string): void {
  process.stderr.write(`${escaped(`${name}: ${message}`)}\n`);
}

/** Writes the requested output, help or JSON, to standard output. Returns false if its reader is slow. */
export function print(text: string): boolean {
  return process.stdout.write(escapedLines(text));
}

/** The page that standard output is: as wide as its terminal, with colour if it takes any (NO_COLOR, FORCE_COLOR). */
export function stdoutPage(isWide = false): Page {
  const { stdout } = process;
  return {
    width: stdout.isTTY && !isWide ? stdout.columns : Infinity,
    wideFlag: '--wide',
    paint: (style, text) => styleText(style, text, { stream: stdout }),
  };
}

/** Writes an answer to standard output. */
function printText(text: Text, page: Page): void {
  const lines = linesOf(text, page);
  if (lines.length > 1 || lines[0]) process.stdout.write(`${lines.join('\n')}\n`);
}

/** Runs the program with the arguments after its name. Resolves with the exit status. */
async function runProgram(program: Program, args: readonly string[]): Promise<number> {
  const { name, commands } = program;
  try {
    return await runOne(program, args);
  } catch (error) {
    const { messageOf = ({ message }: Error) => message } = program;
    printNote(name, error instanceof Error ? messageOf(error) : String(error));
    if (error instanceof Failure) return error.status;
    if (!(error instanceof WrongArguments) && !program.isAboutArguments(error)) return 1;
    const command = nameIn(commands, args) ?? groupIn(commands, args);
    const what =
      command === undefined
        ? `Run \`${name} help\` for the commands`
        : nameIn(commands, args) === undefined
          ? `Run \`${name} help ${command}\` for its commands`
          : `Run \`${name} help ${command}\` for its flags`;
    process.stderr.write(`${what}.\n`);
    return 2;
  }
}

async function runOne(program: Program, args: readonly string[]): Promise<number> {
  const { commands, topics = {} } = program;
  const name = nameIn(commands, args);
  if (name === undefined) return withoutCommand(program, args);
  const command = await commandOf(commands, name);
  const given = parseArguments(command, args.slice(name.split(' ').length));
  if (given.has('help')) return shown(helpOf(program.name, command, topics));
  const answer = await command.run(given);
  if (!answer) return 0;
  const { json, text, status = 0 } = answer;
  if (given.has('json')) print(`${JSON.stringify(json, undefined, 2)}\n`);
  else printText(text, stdoutPage(given.has('wide')));
  return status;
}

async function commandOf(commands: Program['commands'], name: string): Promise<Command> {
  const found = await commands[name]!();
  return { ...found, flags: { ...found.flags, ...EVERYWHERE } };
}

/** Returns the command the arguments start with: one word or two. */
function nameIn(
  commands: Program['commands'],
  [first = '', second = '']: readonly string[],
): string | undefined {
  return [`${first} ${second}`, first].find((name) => Object.hasOwn(commands, name));
}

/** Returns the first word of the arguments if commands of two words begin with it. */
function groupIn(commands: Program['commands'], [first = '']: readonly string[]): string | undefined {
  return groupOf(Object.keys(commands), first).length > 0 ? first : undefined;
}

async function withoutCommand(program: Program, [first, ...more]: readonly string[]): Promise<number> {
  const names = Object.keys(program.commands);
  if (first === '--version') return shown(`${program.version}\n`);
  if (first === '--help' || first === '-h') return shown(await overview(program, names));
  if (first === 'help') return help(program, more);
  if (first === undefined) {
    process.stderr.write(await overview(program, names));
    return 2;
  }
  if (first.startsWith('-')) throw new WrongArguments(`No command before ${first}.`);
  const group = groupOf(names, first);
  const [second] = more;
  if (group.length > 0 && (second === '--help' || second === '-h'))
    return shown(await overview(program, group));
  if (group.length > 0 && second === undefined)
    throw new WrongArguments(
      `Missing command after ${first}: expected one of ${group.map(lastWord).join(', ')}.`,
    );
  const given = group.length > 0 ? `${first} ${second}` : first;
  throw unknownCommand(given, names);
}

function unknownCommand(given: string, names: readonly string[]): WrongArguments {
  return new WrongArguments(
    `Unknown command ${given}.${didYouMean(nearest(given, ['help', '--version', ...names]))}`,
  );
}

/** `help`, `help COMMAND`, `help GROUP`, `help TOPIC`. */
async function help(program: Program, words: readonly string[]): Promise<number> {
  const { commands, topics = {} } = program;
  const names = Object.keys(commands);
  const [first] = words.filter((word) => word !== '--help' && word !== '-h');
  if (first === undefined || first === 'help') return shown(await overview(program, names));
  const name = nameIn(commands, words);
  if (name !== undefined) return shown(helpOf(program.name, await commandOf(commands, name), topics));
  const group = groupOf(names, first);
  if (group.length > 0) return shown(await overview(program, group));
  if (Object.hasOwn(topics, first)) return shown(helpOfTopic(topics[first]!));
  throw unknownCommand(first, [...names, ...Object.keys(topics)]);
}

function groupOf(names: readonly string[], first: string): string[] {
  return names.filter((name) => name.startsWith(`${first} `));
}

async function overview(
  { name, commands: all, topics = {} }: Program,
  names: readonly string[],
): Promise<string> {
  const commands = await Promise.all(names.map((each) => all[each]!()));
  const usages = commands.map((each) => [each.name, ...(each.operands ?? [])].join(' '));
  const width = Math.max(...usages.map(({ length }) => length));
  const lines = commands.map(({ summary }, i) => `  ${usages[i]!.padEnd(width)}  ${summary}`);
  const more = Object.entries(topics).map(
    ([topic, { summary }]) => `\`${name} help ${topic}\` for ${summary}`,
  );
  const ways = [
    `\`${name} help COMMAND\` for flags and examples`,
    ...more,
    `\`${name} --version\` for the version`,
  ];
  return [`${name} COMMAND [OPTIONS]`, '', ...lines, '', `Run ${ways.join(', ')}.`, ''].join('\n');
}

function lastWord(name: string): string {
  return name.slice(name.lastIndexOf(' ') + 1);
}

function shown(text: string): number {
  print(text);
  return 0;
}

/** The command that prints the completion script of a shell. */
function completionOf({ name, commands, topics = {} }: Program): Command {
  return {
    name: 'completion',
    operands: ['SHELL'],
    summary: 'Print the script that completes commands and flags in bash, zsh or fish.',
    about: `In ~/.bashrc or ~/.zshrc: eval "$(${name} completion bash)", or zsh. In fish: ${name} completion fish | source`,
    flags: {},
    status: '0 printed',
    examples: SHELLS.map((shell) => `${name} completion ${shell}`),
    async run(args) {
      const given = args.required('SHELL');
      const shell = SHELLS.find((each) => each === given);
      if (!shell)
        throw args.wrong(`unknown shell ${JSON.stringify(given)}: expected one of ${SHELLS.join(', ')}.`);
      const names = Object.keys(commands);
      const all = await Promise.all(names.map((each) => commandOf(commands, each)));
      const words = [...new Set(names.map(firstWord)), ...Object.keys(topics)];
      const others = [
        { name: 'help', summary: 'Show the commands, or one of them.', flags: {}, words },
        { name: 'completion', summary: 'Print a completion script.', flags: EVERYWHERE, words: SHELLS },
      ];
      print(completionFor(shell, name, [...all, ...others]));
    },
  };
}

function firstWord(name: string): string {
  return name.split(' ')[0]!;
}
