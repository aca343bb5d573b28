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
  const content = parse(path);
  if (statSync(path).mode & 0o002)
    doubt(`${path} is world-writable, so anyone on this machine can choose the servers: chmod o-w ${path}`);
  if (typeof content !== 'object' || content === null || Array.isArray(content)) {
    const text = JSON.stringify(withoutSecrets(content)).slice(0, 200);
    throw new WrongArguments(`${path} contains ${text}: expected an object with options.`);
  }
  const unknown = Object.keys(content).find((name) => !names.includes(name));
  if (unknown !== undefined)
    throw new WrongArguments(
      `${path}: option \`${unknown}\` is not supported on the command line: expected one of ${names.join(', ')}.`,
    );
  return content;
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
