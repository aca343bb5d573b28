import type { DeadLetter } from '../../api/dead-letter.js';
import { makeDeadLetter } from '../../copies/make-dead-letter.js';
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
  return makeDeadLetter({ tube, storedAs, letter, copy: { header, content } });
}
