import { existsSync, readFileSync, statSync } from 'node:fs';
import { withoutSecrets } from '../secrets.js';
import { WrongArguments, type Arguments } from './arguments.js';

/** A JSON file with application options. */
export interface ConfigFile {
  /** Default path, read if it exists and `--config` isn't given. */
  readonly byDefault: string;
  /** Allowed options. */
  readonly names: readonly string[];
  /** Warns the user about something doubtful. */
  readonly doubt: (line: string) => void;
}

/** Returns the contents of the file; empty if there is none. `WrongArguments`. */
export function readConfigFile(args: Arguments, { byDefault, names, doubt }: ConfigFile): object {
  const named = args.text('config', 'the path of a JSON file');
  const path = named ?? byDefault;
  if (named === undefined && !existsSync(path)) return {};
  const content = readJsonFile(path, doubt);
  checkOptions(content, names, path);
  return content;
}

/** Returns the content of a JSON file. `doubt`: warns the user that anyone can change it. `WrongArguments`. */
export function readJsonFile(path: string, doubt: (line: string) => void): unknown {
  const content = parse(path);
  if (statSync(path).mode & 0o002)
    doubt(`${path} is world-writable, so anyone on this machine can choose the servers: chmod o-w ${path}`);
  return content;
}

/** Throws `WrongArguments` unless this is an object, with no other fields than `names`, if given. `where`: its file. */
export function checkOptions(
  content: unknown,
  names: readonly string[] | undefined,
  where: string,
): asserts content is object {
  if (typeof content !== 'object' || content === null || Array.isArray(content)) {
    const text = JSON.stringify(withoutSecrets(content)).slice(0, 200);
    throw new WrongArguments(`${where} contains ${text}: expected an object${names ? ' with options' : ''}.`);
  }
  const unknown = names && Object.keys(content).find((name) => !names.includes(name));
  if (names && unknown !== undefined)
    throw new WrongArguments(
      `${where}: option \`${unknown}\` is not supported on the command line: expected one of ${names.join(', ')}.`,
    );
}

function parse(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (thrown) {
    // JSON.parse's message shows a part of the file.
    const why = thrown instanceof SyntaxError ? 'not valid JSON' : (thrown as Error).message;
    throw new WrongArguments(`Cannot read ${path}: ${why}; expected a JSON file.`);
  }
}
