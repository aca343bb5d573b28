import type { Accepted, Arguments, Flags } from './arguments.js';

/** Result of a command: `json` is printed with `--json`, `text` otherwise. */
export interface Answer {
  /** Document printed by `--json`. */
  readonly json: unknown;
  /** Without a trailing line break. */
  readonly text: string;
  /** Exit status. @default 0 */
  readonly status?: number;
}

/** A command of the program. */
export interface Command extends Accepted {
  /** One-line summary. */
  readonly summary: string;
  /** Further description. @default none */
  readonly about?: string;
  /** Meaning of the exit statuses, except 2 for invalid arguments. */
  readonly status: string;
  /** Complete command lines. The tests run them. */
  readonly examples: readonly string[];
  /** Resolves with nothing if it has written its own output. */
  run(args: Arguments): Promise<Answer | void>;
}

/** Flags of every command. */
export const EVERYWHERE: Flags = { help: { help: 'show this help' } };

/** For commands whose `Answer` is printed. */
export const JSON_FLAG: Flags = { json: { help: 'print one JSON document and nothing else' } };

/** Returns the `--help` text of one command. */
export function helpOf(
  program: string,
  { name, operands = [], flags, summary, about, status, examples }: Command,
): string {
  const usage = [program, name, ...operands, '[OPTIONS]'].join(' ');
  const parts = [
    usage,
    about === undefined ? summary : `${summary}\n${about}`,
    flagLines(flags),
    `Exit status: ${status}; 2 invalid arguments.`,
    ['Examples:', ...examples.map((example) => `  ${example}`)].join('\n'),
  ];
  return `${parts.join('\n\n')}\n`;
}

function flagLines(flags: Flags): string {
  const entries = Object.entries(flags).map(([flag, { value, help }]): [string, string] => [
    value === undefined ? `--${flag}` : `--${flag} ${value}`,
    help,
  ]);
  const width = Math.max(...entries.map(([usage]) => usage.length));
  return entries
    .map(
      ([usage, help]) => `  ${usage.padEnd(width)}  ${help.replaceAll('\n', `\n${' '.repeat(width + 4)}`)}`,
    )
    .join('\n');
}
