import type { Accepted, Arguments, Flags } from './arguments.js';

/** What a command found or did: with `--json` the document, otherwise the text. */
export interface Answer {
  /** What `--json` prints. */
  readonly json: unknown;
  /** Ends without a line break. */
  readonly text: string;
  /** The exit status. @default 0 */
  readonly status?: number;
}

/** One command of the program. */
export interface Command extends Accepted {
  /** What it does, in one line. */
  readonly summary: string;
  /** More about it. @default nothing */
  readonly about?: string;
  /** What the exit statuses mean, except 2. */
  readonly status: string;
  /** Whole command lines. The tests run them. */
  readonly examples: readonly string[];
  /** Nothing: it has written its output by itself. */
  run(args: Arguments): Promise<Answer | void>;
}

/** Flags that every command has. */
export const EVERYWHERE: Flags = { help: { help: 'prints this text' } };

/** For commands whose `Answer` is printed. */
export const JSON_FLAG: Flags = { json: { help: 'prints one JSON document and nothing else' } };

/** What `--help` prints for one command. */
export function helpOf(
  program: string,
  { name, operands = [], flags, summary, about, status, examples }: Command,
): string {
  const usage = [program, name, ...operands, '[OPTIONS]'].join(' ');
  const parts = [
    usage,
    about === undefined ? summary : `${summary}\n${about}`,
    flagLines(flags),
    `Exit status: ${status}, 2 wrong arguments.`,
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
