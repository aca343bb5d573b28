import type { Duration } from 'nest-handlers/time';
import type { DeadLetter } from '../api/dead-letter.js';
import { storedTube, withoutPrefix, type StoredTube, type Tube } from '../api/tube.js';
import { deleteCopies } from '../copies/deletion.js';
import type { Letter } from '../ledger/requests.js';
import { dueAfter, dueNow } from '../producer/due.js';
import { revive } from '../producer/job-mover.js';
import { beforeLettersOf, letterCursor, openLetter, readLetterCursor } from '../producer/letter-pages.js';
import type { ProducerContext } from '../producer/producer-context.js';
import { Act } from './act.js';
import {
  PAGE,
  checkBulk,
  inBulk,
  ofOne,
  someAtOnce,
  type Bulk,
  type BulkOptions,
  type BulkPage,
  type BulkProgress,
} from './bulk.js';
import { checkLetterFilter, type DeadLetterFilter } from './letter-filter.js';

/** Each revival is a move: it stores copies on nodes. */
const REVIVALS_AT_ONCE = 32;

type Change = Bulk<Letter, DeadLetter>['change'];

/**
 * Revives and discards many dead letters. They are read newest first, so jobs that die after the first page was read are never
 * seen, and a letter that dies again isn't revived again.
 */
export class LetterActs {
  constructor(private readonly context: ProducerContext) {}

  reviveMany(
    tube: string | Tube,
    filter: DeadLetterFilter,
    options?: BulkOptions & { delay?: Duration },
  ): AsyncGenerator<BulkProgress<DeadLetter>, void, undefined> {
    const checked = checkBulk(options, ['delay']);
    const { delay, patience } = checked;
    const dueIn = delay === undefined ? dueNow : dueAfter(delay);
    const call = { patience: this.context.patienceOf(patience) };
    const { clock } = this.context.parts;
    return this.begin(
      'reviveMany',
      tube,
      filter,
      checked,
      (storedAs) => (letters, ended) =>
        someAtOnce(letters, REVIVALS_AT_ONCE, async (letter) => {
          const until = clock.now() + call.patience;
          const due = dueIn(this.context.now(storedAs));
          const change = { due, until, thorough: true };
          const isRevived = await this.context.retries.run(call, () =>
            // A letter without a reachable copy fails at once: others must not wait for it.
            revive(this.context, storedAs, letter, change).catch(ofOne),
          );
          ended(letter, isRevived === true ? 'done' : isRevived || 'skipped');
        }),
    );
  }

  discardMany(
    tube: string | Tube,
    filter: DeadLetterFilter,
    options?: BulkOptions,
  ): AsyncGenerator<BulkProgress<DeadLetter>, void, undefined> {
    const checked = checkBulk(options);
    const call = { patience: this.context.patienceOf(checked.patience), repeatable: true };
    const { parts, retries } = this.context;
    return this.begin('discardMany', tube, filter, checked, (storedAs) => async (letters, ended) => {
      if (letters.length === 0) return;
      const ledger = parts.ledger.tube(storedAs);
      const asked = letters.map(({ id, born, died }) => ({ id, born, died }));
      let tries = 0;
      const taken = await retries.run(call, () => {
        tries++;
        return ledger.discard(asked);
      });
      // A repeated discard finds nothing where the first one removed a letter and its answer was lost.
      const gone = letters.map((letter, i) => taken[i] ?? (tries > 1 ? letter : undefined));
      const deleted = gone.flatMap((letter) => letter ?? []);
      await Promise.all(deleted.map((letter) => deleteCopies(parts, storedAs, letter, letter.places)));
      letters.forEach((letter, i) => ended(letter, gone[i] ? 'done' : 'skipped'));
    });
  }

  private begin(
    name: 'reviveMany' | 'discardMany',
    tube: string | Tube,
    filter: DeadLetterFilter,
    { by, cursor, dryRun = false, patience }: BulkOptions,
    changeIn: (storedAs: StoredTube) => Change,
  ): AsyncGenerator<BulkProgress<DeadLetter>, void, undefined> {
    this.context.refuseIfClosed();
    const { parts, retries } = this.context;
    const { prefix } = parts.settings;
    const storedAs = storedTube(tube, prefix);
    const { diedFrom, diedTo, matches, limit } = checkLetterFilter(filter);
    const act = new Act(parts.events, name, { tube: withoutPrefix(storedAs, prefix), filter }, by);
    const call = { patience: this.context.patienceOf(patience), repeatable: true };
    const ledger = parts.ledger.tube(storedAs);
    const first = diedTo === undefined ? undefined : beforeLettersOf(diedTo - 1);
    if (cursor !== undefined) readLetterCursor(cursor, `a previous \`${name}\``);

    const read = async (from: string | undefined): Promise<BulkPage<Letter>> => {
      this.context.refuseIfClosed();
      const after = from === undefined ? first : readLetterCursor(from, `a previous \`${name}\``);
      const { letters, more } = await retries.run(call, () => ledger.letters({ limit: PAGE, after }));
      const last = letters.at(-1);
      const begin = after ?? beforeLettersOf(letters[0]?.died ?? 0);
      const goesOn = more && last !== undefined && last.died >= diedFrom;
      return { items: letters, cursor: letterCursor(begin), next: goesOn ? letterCursor(last) : undefined };
    };
    const bulk: Bulk<Letter, DeadLetter> = {
      read,
      matches,
      timeOf: ({ died }) => died,
      cursorBehind: letterCursor,
      change: changeIn(storedAs),
      show: (letter) => openLetter(parts, storedAs, letter),
    };
    return inBulk(bulk, { cursor, limit }, dryRun ? undefined : act);
  }
}
