import { createInterface } from 'node:readline/promises';
import { escaped } from '../escaped.js';
import type { Arguments, Flags } from './arguments.js';

/** For commands that act on many. */
export const YES_FLAG: Flags = { yes: { help: 'does not ask; needed where there is no terminal' } };

/**
 * Asks on the terminal before something is done to many. `what`: what would be done, with the number.
 * False: the answer was not yes. `WrongArguments`: there is nobody to ask, and no `--yes`.
 */
export async function confirmed(args: Arguments, what: string): Promise<boolean> {
  if (args.has('yes')) return true;
  if (!process.stdin.isTTY || !process.stderr.isTTY)
    throw args.wrong(`it would ${what}: expected --yes, as there is no terminal to ask on.`);
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await terminal.question(escaped(`It would ${what}. Go on? [y/N] `));
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    terminal.close();
  }
}
