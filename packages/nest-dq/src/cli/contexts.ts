import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import {
  type Arguments,
  checkOptions,
  didYouMean,
  nearest,
  readJsonFile,
  WrongArguments,
} from 'nest-handlers/cli';
import type { DqOptions } from '../nest/options.js';

/** Returns the name of the chosen context: that of the flag, or of the environment unless a file is given. `WrongArguments`. */
export function contextOf(args: Arguments): string | undefined {
  const named = args.text('context', 'the name of a context');
  const file = args.text('config', 'the path of a JSON file');
  if (named !== undefined && file !== undefined)
    throw args.wrong('expected either --context or --config, not both.');
  return named ?? (file === undefined ? process.env['DQ_CONTEXT'] || undefined : undefined);
}

function contextsFile(): string {
  return join(process.env['XDG_CONFIG_HOME'] || join(homedir(), '.config'), 'nest-dq', 'contexts.json');
}

/** Returns the options of a context, with the variables it refers to. `WrongArguments`. */
export function readContext(
  name: string,
  names: readonly string[],
  doubt: (line: string) => void,
): DqOptions {
  const path = contextsFile();
  if (!existsSync(path)) throw new WrongArguments(`Unknown context ${name}: there is no file ${path}.`);
  const all = readJsonFile(path, doubt);
  checkOptions(all, undefined, path);
  const known = all as Readonly<Record<string, unknown>>;
  if (!Object.hasOwn(known, name)) {
    const others = Object.keys(known);
    const similar = nearest(name, others);
    const ways = similar.length > 0 ? didYouMean(similar) : ` Expected one of ${others.join(', ')}.`;
    throw new WrongArguments(`Unknown context ${name} in ${path}.${ways}`);
  }
  const where = `${path}: context ${name}`;
  checkOptions(known[name], names, where);
  return withVariables(known[name], where, []) as DqOptions;
}

const REFERENCE = /\$\{(\w+)\}/g;
const PASSWORD_OF_URL = /^\w+:\/\/[^:@]*:(.+)@|^\w+:\/\/.*[?&]password=([^&]+)/;

/** Replaces `${NAME}` in all strings. Secrets must be such references, so that the file can be shared. */
function withVariables(value: unknown, where: string, path: readonly string[]): unknown {
  if (Array.isArray(value)) return value.map((each: unknown) => withVariables(each, where, path));
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(
      Object.entries(value).map(([name, each]) => [name, withVariables(each, where, [...path, name])]),
    );
  if (typeof value !== 'string') return value;
  const [, login, parameter] = PASSWORD_OF_URL.exec(value) ?? [];
  const secret = isSecret(path) ? value : (login ?? parameter);
  if (secret !== undefined && !/^\$\{\w+\}$/.test(secret))
    throw new WrongArguments(
      `${where}: \`${path.join('.')}\` contains a secret: expected a reference to a variable, such as \${REDIS_PASSWORD}.`,
    );
  return value.replaceAll(REFERENCE, (reference, name: string) => {
    const given = process.env[name];
    if (!given)
      throw new WrongArguments(
        `${where}: \`${path.join('.')}\` refers to ${name}, which is not set in the environment.`,
      );
    return reference !== value && value.includes('://') ? encodeURIComponent(given) : given;
  });
}

function isSecret(path: readonly string[]): boolean {
  return /pass(word|phrase)?$|secret$/i.test(path.at(-1) ?? '') || path.at(-2) === 'keys';
}
