import { createInterface } from 'node:readline/promises';
import { escaped } from '../escaped.js';
import type { Arguments, Flags } from './arguments.js';

/** For commands that act on many items. */
export const YES_FLAG: Flags = { yes: { help: 'skip confirmation; required without a terminal' } };

/**
 * Asks for confirmation on the terminal. `what`: the action, with the number of items. Resolves with false unless the answer is
 * yes. `WrongArguments`: there is no terminal, and no `--yes`.
 */
export async function confirmed(args: Arguments, what: string): Promise<boolean> {
  if (args.has('yes')) return true;
  if (!process.stdin.isTTY || !process.stderr.isTTY)
    throw args.wrong(`would ${what}: expected --yes, since there is no terminal to confirm on.`);
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await terminal.question(escaped(`This will ${what}. Continue? [y/N] `));
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    terminal.close();
  }
}
