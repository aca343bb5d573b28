import { deadLetter, type DeadLetter } from '../../copies/dead-letter.js';
import type { Letter } from '../../ledger/requests.js';
import type { Delivery } from '../reserve/delivery.js';
import type { TubeNames } from '../run/run.js';

/** The letter of a job that died here, made of the copy in hand: nobody is asked. */
export function letterOf(
  { tube, storedAs }: TubeNames,
  { header, content, places }: Delivery,
  end: Pick<Letter, 'why' | 'error' | 'due' | 'attempt' | 'died'>,
): DeadLetter {
  const { id, born, generation } = header;
  const letter = { ...end, id, born, generation, places };
  return deadLetter({ tube, storedAs, letter, copy: { header, content } });
}
