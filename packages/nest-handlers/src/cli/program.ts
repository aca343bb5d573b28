import { escapedLines } from '../escaped.js';
import { parseArguments, WrongArguments } from './arguments.js';
import { EVERYWHERE, helpOf, type Command } from './command.js';

/** Definition of a program. */
export interface Program {
  /** The name users type. */
  readonly name: string;
  /** Output of `--version`. */
  readonly version: string;
  /** Commands by name, of one or two words. Each is loaded only when called, so that none waits for the modules of another. */
  readonly commands: Readonly<Record<string, () => Promise<Command>>>;
  /** Whether an error, other than a `WrongArguments`, is about an argument. */
  isAboutArguments(error: unknown): boolean;
}

/** Runs the program with the arguments of this process. */
export async function startProgram(program: Program): Promise<void> {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // The reader of a pipe may be gone, as with `head`. A server continues regardless, even when a disk is full.
    if (error.code === 'EPIPE') return;
    process.stderr.write(`${program.name}: cannot write to standard output: ${error.message}\n`);
  });
  process.stderr.on('error', () => undefined); // nowhere left to report it
  process.exitCode = await runProgram(program, process.argv.slice(2));
}

/** Writes a line for people to standard error. As with `print`, control characters are escaped, whoever wrote them. */
export function printNote(name: string, message: string): void {
  process.stderr.write(escapedLines(`${name}: ${message}\n`));
}

/** Writes the requested output, text or JSON, to standard output. Returns false if its reader is slow. */
export function print(text: string): boolean {
  return process.stdout.write(escapedLines(text));
}

/** Runs the program with the arguments after its name. Resolves with the exit status. */
async function runProgram(program: Program, args: readonly string[]): Promise<number> {
  const { name, commands } = program;
  try {
    return await runOne(program, args);
  } catch (error) {
    printNote(name, error instanceof Error ? error.message : String(error));
    if (!(error instanceof WrongArguments) && !program.isAboutArguments(error)) return 1;
    const command = nameIn(commands, args);
    const what =
      command === undefined
        ? `Run \`${name} --help\` for the commands`
        : `Run \`${name} ${command} --help\` for its flags`;
    process.stderr.write(`${what}.\n`);
    return 2;
  }
}

async function runOne(program: Program, args: readonly string[]): Promise<number> {
  const name = nameIn(program.commands, args);
  if (name === undefined) return withoutCommand(program, args);
  const found = await program.commands[name]!();
  const command: Command = { ...found, flags: { ...found.flags, ...EVERYWHERE } };
  const given = parseArguments(command, args.slice(name.split(' ').length));
  if (given.has('help')) return shown(helpOf(program.name, command));
  const answer = await command.run(given);
  if (!answer) return 0;
  const { json, text, status = 0 } = answer;
  if (given.has('json')) print(`${JSON.stringify(json, undefined, 2)}\n`);
  else if (text !== '') print(`${text}\n`);
  return status;
}

/** Returns the command the arguments start with: one word or two. */
function nameIn(
  commands: Program['commands'],
  [first = '', second = '']: readonly string[],
): string | undefined {
  return [`${first} ${second}`, first].find((name) => Object.hasOwn(commands, name));
}

async function withoutCommand(program: Program, [first, ...more]: readonly string[]): Promise<number> {
  const names = Object.keys(program.commands);
  if (first === '--version') return shown(`${program.version}\n`);
  if (first === '--help') return shown(await overview(program, names));
  const group = names.filter((name) => name.startsWith(`${first} `));
  if (group.length > 0 && more[0] === '--help') return shown(await overview(program, group));
  if (group.length > 0)
    throw new WrongArguments(
      `Missing command after ${first}: expected one of ${group.map(lastWord).join(', ')}.`,
    );
  if (first === undefined || first.startsWith('-')) {
    const given = first === undefined ? 'No command given' : `No command before ${first}`;
    throw new WrongArguments(`${given}: expected one of ${names.join(', ')}.`);
  }
  throw new WrongArguments(`Unknown command ${first}: expected one of ${names.join(', ')}.`);
}

async function overview({ name, commands: all }: Program, names: readonly string[]): Promise<string> {
  const commands = await Promise.all(names.map((each) => all[each]!()));
  const usages = commands.map((each) => [each.name, ...(each.operands ?? [])].join(' '));
  const width = Math.max(...usages.map(({ length }) => length));
  const lines = commands.map(({ summary }, i) => `  ${usages[i]!.padEnd(width)}  ${summary}`);
  return [
    `${name} COMMAND [OPTIONS]`,
    '',
    ...lines,
    '',
    `Run \`${name} COMMAND --help\` for flags and examples, \`${name} --version\` for the version.`,
    '',
  ].join('\n');
}

function lastWord(name: string): string {
  return name.slice(name.lastIndexOf(' ') + 1);
}

function shown(text: string): number {
  print(text);
  return 0;
}
