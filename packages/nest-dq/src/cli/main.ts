import { DqError, type DqErrorCode } from '../errors.js';
import { parseArguments, WrongArguments } from './arguments.js';
import { EVERYWHERE, helpOf, type Command } from './command.js';
import { COMMANDS } from './commands.js';
import { print, tell, version } from './process.js';

/** Errors that say that an argument was wrong: a tube, a reference, a time. */
const ABOUT_ARGUMENTS: readonly DqErrorCode[] = [
  'DQ_BAD_TUBE',
  'DQ_BAD_REF',
  'DQ_BAD_DURATION',
  'DQ_BAD_TIME',
  'DQ_BAD_OPTION',
  'DQ_PAST_TIME',
  'DQ_TOO_FAR',
];

/** Runs the program with the arguments behind its name. Resolves with the exit status. */
export async function main(args: readonly string[]): Promise<number> {
  try {
    return await runOne(args);
  } catch (error) {
    tell(error instanceof Error ? error.message : String(error));
    const isWrong =
      error instanceof WrongArguments || (error instanceof DqError && ABOUT_ARGUMENTS.includes(error.code));
    if (!isWrong) return 1;
    const name = nameIn(args);
    const what =
      name === undefined ? 'nest-dq --help shows the commands' : `nest-dq ${name} --help shows its flags`;
    process.stderr.write(`${what}.\n`);
    return 2;
  }
}

async function runOne(args: readonly string[]): Promise<number> {
  const name = nameIn(args);
  if (name === undefined) return withoutCommand(args);
  const found = await COMMANDS[name]!();
  const command: Command = { ...found, flags: { ...found.flags, ...EVERYWHERE } };
  const given = parseArguments(command, args.slice(name.split(' ').length));
  if (given.has('help')) return shown(helpOf(command));
  const answer = await command.run(given);
  if (!answer) return 0;
  const { json, text, status = 0 } = answer;
  if (given.has('json')) print(`${JSON.stringify(json, undefined, 2)}\n`);
  else if (text !== '') print(`${text}\n`);
  return status;
}

/** The command that the arguments begin with: one word, or two. */
function nameIn([first = '', second = '']: readonly string[]): string | undefined {
  return [`${first} ${second}`, first].find((name) => Object.hasOwn(COMMANDS, name));
}

async function withoutCommand([first, ...more]: readonly string[]): Promise<number> {
  if (first === '--version') return shown(`${version()}\n`);
  if (first === '--help') return shown(await overview(Object.keys(COMMANDS)));
  const group = Object.keys(COMMANDS).filter((name) => name.startsWith(`${first} `));
  if (group.length > 0 && more[0] === '--help') return shown(await overview(group));
  if (group.length > 0) throw new WrongArguments(`${first} needs one of ${group.map(lastWord).join(', ')}.`);
  if (first === undefined || first.startsWith('-')) {
    const given = first === undefined ? 'There is nothing to do' : `There is no command in front of ${first}`;
    throw new WrongArguments(`${given}: expected one of ${Object.keys(COMMANDS).join(', ')}.`);
  }
  throw new WrongArguments(
    `There is no command ${first}: expected one of ${Object.keys(COMMANDS).join(', ')}.`,
  );
}

async function overview(names: readonly string[]): Promise<string> {
  const commands = await Promise.all(names.map((name) => COMMANDS[name]!()));
  const usages = commands.map(({ name, operands = [] }) => [name, ...operands].join(' '));
  const width = Math.max(...usages.map(({ length }) => length));
  const lines = commands.map(({ summary }, i) => `  ${usages[i]!.padEnd(width)}  ${summary}`);
  return [
    'nest-dq COMMAND [OPTIONS]',
    '',
    ...lines,
    '',
    'nest-dq COMMAND --help shows the flags and examples of a command; nest-dq --version prints the version.',
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
