import type { StoredTube } from '../api/tube.js';
import { newestFirst } from '../ledger/letters/newest-first.js';
import type { Ledger } from '../ledger/ledger.js';
import type { Letter, LetterList } from '../ledger/requests.js';
import type { LetterPosition } from '../producer/letter-pages.js';
import { someAtOnce } from './bulk.js';

/** A dead letter, and where it is. */
export interface TubeLetter {
  readonly tube: StoredTube;
  readonly letter: Letter;
}

/** Max letters read by one script. */
const LARGEST_PAGE = 128;
/** Tubes asked concurrently. */
const AT_ONCE = 16;

/** The page of a tube that is being walked through, and the index of its next letter. */
interface Head {
  readonly tube: StoredTube;
  page: LetterList;
  at: number;
}

/**
 * Yields the dead letters of all these tubes together, newest first. It reads small pages, each of the tube that has the next
 * letter. Throws `DQ_LEDGER_DOWN`, `DQ_CLOSED`.
 * @param after Starts right after this position. @default the newest letter
 * @param expected Number of letters the caller is likely to take, which decides the size of the first pages.
 */
export async function* walkLetters(
  ledger: Ledger,
  tubes: readonly StoredTube[],
  after: LetterPosition | undefined,
  expected: number,
): AsyncGenerator<TubeLetter, void, undefined> {
  const first = Math.max(1, Math.ceil((2 * expected) / Math.max(1, tubes.length)));
  const limit = Math.min(LARGEST_PAGE, first);
  const heads: Head[] = [];
  await someAtOnce(tubes, AT_ONCE, async (tube) => {
    heads.push({ tube, page: await ledger.tube(tube).letters({ limit, after }), at: 0 });
  });
  for (;;) {
    const head = newest(heads);
    const letter = head?.page.letters[head.at++];
    if (!head || !letter) return;
    yield { tube: head.tube, letter };
    if (head.at < head.page.letters.length || !head.page.more) continue;
    head.page = await ledger.tube(head.tube).letters({ limit: LARGEST_PAGE, after: letter });
    head.at = 0;
  }
}

/** The head with the newest next letter; undefined if none has one. */
function newest(heads: readonly Head[]): Head | undefined {
  let best: Head | undefined;
  for (const head of heads) {
    const letter = head.page.letters[head.at];
    if (letter && (!best || newestFirst(letter, best.page.letters[best.at]!) < 0)) best = head;
  }
  return best;
}
