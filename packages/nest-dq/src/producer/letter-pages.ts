// Shared by lists of dead letters: cursors, and letters as users see them.
import type { DeadLetter } from '../api/dead-letter.js';
import type { TubeCodecs } from '../api/payload-codec.js';
import { withoutPrefix, type StoredTube } from '../api/tube.js';
import { makeDeadLetter } from '../copies/make-dead-letter.js';
import { isUnreadable, lookForCopy } from '../copies/reading.js';
import type { Letter, LetterPage } from '../ledger/requests.js';
import { formatCursor, parseCursor } from './cursor.js';
import type { ProducerParts } from './producer-context.js';

/** Position at which a page of letters ended. */
export type LetterPosition = NonNullable<LetterPage['after']>;

/** Letters are listed newest first, and within one ms by descending id. No job id contains this character. */
const BEFORE_ALL_IDS = '~';

/** Position right before all letters of this ms. */
export function beforeLettersOf(died: number): LetterPosition {
  return { died, id: BEFORE_ALL_IDS, born: 0 };
}

export function letterCursor({ died, id, born }: LetterPosition): string {
  return formatCursor(died, id, born);
}

/** Parses a cursor. `of` says where it comes from, for the error. `DQ_BAD_OPTION`. */
export function readLetterCursor(cursor: string, of: string): LetterPosition {
  const [died, id, born] = parseCursor(cursor, of, ['number', 'string', 'number']);
  return { died, id, born };
}

/** Reads the payload and the key, which are only in the copies. */
export async function openLetter(
  { cluster, settings }: Pick<ProducerParts, 'cluster'> & { readonly settings: { readonly prefix: string } },
  storedAs: StoredTube,
  letter: Letter,
  codecs?: TubeCodecs,
): Promise<DeadLetter> {
  const found = await lookForCopy(cluster, storedAs, letter, letter.places);
  const tube = withoutPrefix(storedAs, settings.prefix);
  const content = isUnreadable(found) ? { copy: undefined, missingKey: found.missingKey } : { copy: found };
  return makeDeadLetter({ tube, storedAs, letter, ...content, seal: cluster.settings.seal, codecs });
}
