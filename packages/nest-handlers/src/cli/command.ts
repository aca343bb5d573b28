import type { Accepted, Arguments, Flags } from './arguments.js';
import type { Text } from './text.js';

/** Result of a command: `json` is printed with `--json`, `text` otherwise. */
export interface Answer {
  /** Document printed by `--json`. */
  readonly json: unknown;
  /** Lines for people. Nothing is printed if it is empty. */
  readonly text: Text;
  /** Exit status. @default 0 */
  readonly status?: number;
}

/** A failure with an exit status of its own. */
export class Failure extends Error {
  constructor(
    message: string,
    /** Exit status of the program. */
    readonly status: number,
  ) {
    super(message);
  }
}

/** A command of the program. */
export interface Command extends Accepted {
  /** One-line summary. */
  readonly summary: string;
  /** Further description. @default none */
  readonly about?: string;
  /** Meaning of the exit statuses. Help adds 2 for invalid arguments. */
  readonly status: string;
  /** Complete command lines. The tests run them. */
  readonly examples: readonly string[];
  /** Resolves with nothing if it has written its own output. */
  run(args: Arguments): Promise<Answer | void>;
}

/** Flags that many commands share, explained once: `help NAME`. */
export interface Topic {
  /** Their subject, as a noun phrase. */
  readonly summary: string;
  /** Text above the flags. */
  readonly about: string;
  /** Flags it explains. */
  readonly flags: Flags;
}

/** Flags of every command. */
export const EVERYWHERE: Flags = { help: { help: 'show this help (also -h)' } };

/** For commands whose `Answer` is printed. */
export const ANSWER_FLAGS: Flags = {
  json: { help: 'print one JSON document and nothing else' },
  wide: { help: "print whole names, even if a table doesn't fit the terminal" },
};

/** Returns the `--help` text of one command. */
export function helpOf(
  program: string,
  { name, operands = [], flags, summary, about, status, examples }: Command,
  topics: Readonly<Record<string, Topic>>,
): string {
  const usage = [program, name, ...operands, '[OPTIONS]'].join(' ');
  // By identity: a flag of the same name may mean something else to another command.
  const isOf = (topic: Topic, flag: string) =>
    topic.flags[flag] !== undefined && topic.flags[flag] === flags[flag];
  const own = Object.entries(flags).filter(
    ([flag]) => !Object.values(topics).some((topic) => isOf(topic, flag)),
  );
  const shared = Object.entries(topics).filter(([, topic]) =>
    Object.keys(flags).some((flag) => isOf(topic, flag)),
  );
  const references = shared.map(([each, topic]) => {
    const names = Object.keys(topic.flags).map((flag) => `--${flag}`);
    const shown = names.length > 4 ? [...names.slice(0, 4), '…'] : names;
    return `  ${shown.join(', ')}: ${topic.summary}, see \`${program} help ${each}\``;
  });
  const parts = [
    usage,
    about === undefined ? summary : `${summary}\n${about}`,
    [flagLines(Object.fromEntries(own)), ...references].join('\n'),
    `Exit status: ${status}${/; 2 [^;]+$/.test(status) ? ' or' : '; 2'} invalid arguments.`,
    ['Examples:', ...examples.map((example) => `  ${example}`)].join('\n'),
  ];
  return `${parts.join('\n\n')}\n`;
}

/** Returns the text of `help NAME`. */
export function helpOfTopic({ about, flags }: Topic): string {
  return `${about}\n\n${flagLines(flags)}\n`;
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
