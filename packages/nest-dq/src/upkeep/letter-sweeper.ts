import { storedTube, type StoredTube } from '../api/tube.js';
import { deleteCopies } from '../copies/deletion.js';
import { DqError, toError } from '../errors.js';
import type { TubeLedger } from '../ledger/ledger.js';
import type { Letter } from '../ledger/requests.js';
import type { RemovedLetters } from '../consumer/report.js';
import type { Retention } from '../consumer/retention.js';
import type { ConsumerParts } from '../consumer/tube-context.js';
import { TubeRounds } from './tube-rounds.js';

/** By the first round, servers have answered. */
const TIMES = { firstAfter: 5_000, every: 60_000 };
/** Letters per script call, few enough that others hardly wait. */
const MAX_TOGETHER = 128;
/** Calls per round for one tube: some 10,000 letters. */
const MAX_CALLS = 80;

/**
 * Removes dead letters that are too old or too many from all tubes that a process consumes, soon after the start and about every
 * minute. It discards the oldest first, and deletes their copies. Other processes may do the same concurrently.
 */
export class LetterSweeper {
  /** Letters that a discard without an answer may have removed: their copies aren't deleted yet. */
  private readonly doubtful = new Map<StoredTube, readonly Letter[]>();
  private readonly rounds: TubeRounds;

  constructor(
    /** Prefix of every tube name. */
    private readonly prefix: string,
    private readonly parts: Pick<
      ConsumerParts,
      'cluster' | 'ledger' | 'settleQueue' | 'clock' | 'report' | 'events'
    >,
    /** By tube, without the prefix. */
    private readonly retentions: ReadonlyMap<string, Retention>,
  ) {
    const look = (tube: string) => this.sweep(tube);
    this.rounds = new TubeRounds(parts.clock, TIMES, () => retentions.keys(), look);
  }

  /** Idempotent; does nothing after `close`. */
  start(): void {
    this.rounds.start();
  }

  /** Removes nothing more. Resolves when the copies of discarded letters are deleted. Idempotent, also before `start`. */
  close(): Promise<void> {
    return this.rounds.close();
  }

  private async sweep(tube: string): Promise<void> {
    const retention = this.retentions.get(tube);
    if (!retention) return; // no longer consumed
    const { report, events } = this.parts;
    const storedAs = storedTube(tube, this.prefix);
    const ledger = this.parts.ledger.tube(storedAs);
    const removed: RemovedLetters = { tooOld: 0, tooMany: 0 };
    try {
      let more = true;
      for (let calls = 0; more && calls < MAX_CALLS && !ledger.away && !this.rounds.closed; calls++)
        more = await this.removeSome(storedAs, ledger, retention, removed);
    } catch (thrown) {
      const error = toError(thrown);
      const isReported = ledger.away || (error instanceof DqError && error.code === 'DQ_OTHER_LEDGER');
      if (!isReported) report.notSwept(tube, error);
    }
    if (removed.tooOld + removed.tooMany === 0) return;
    report.lettersRemoved(tube, removed);
    events.emit('lettersRemoved', { tube, ...removed });
  }

  /** Returns false if there is nothing more to remove. */
  private async removeSome(
    tube: StoredTube,
    ledger: TubeLedger,
    retention: Retention,
    removed: RemovedLetters,
  ): Promise<boolean> {
    const asked = this.doubtful.get(tube);
    const { letters, more } = asked
      ? { letters: asked, more: true }
      : await ledger.surplus({ ...retention, limit: MAX_TOGETHER });
    if (letters.length === 0) return false;
    this.doubtful.set(tube, letters);
    const answers = await ledger.discard(letters.map(({ id, born, died }) => ({ id, born, died })));
    this.doubtful.delete(tube);
    // A repeated discard finds nothing where the first one removed the letter. Whoever else removed it deletes its copies too.
    const taken = letters.map((letter, i) => answers[i] ?? (asked && letter)).filter((each) => !!each);
    const oldest = ledger.now() - retention.maxAge;
    for (const { died } of taken) removed[died < oldest ? 'tooOld' : 'tooMany']++;
    await Promise.all(taken.map((letter) => deleteCopies(this.parts, tube, letter, letter.places)));
    return more;
  }
}
