import { storedTube, type StoredTube } from '../api/tube.js';
import { deleteCopies } from '../copies/deletion.js';
import { toError } from '../errors.js';
import type { TubeLedger } from '../ledger/ledger.js';
import type { Letter } from '../ledger/letter-requests.js';
import type { Timer } from 'nest-handlers/time';
import type { RemovedLetters } from './report.js';
import type { Retention } from './retention.js';
import type { ConsumerParts } from './tube-context.js';

/** Milliseconds from the start to the first round: servers have answered by then. */
const FIRST_AFTER = 5_000;
/** Milliseconds from one round to the next. */
const EVERY = 60_000;
/** Letters of one script call, so that others hardly wait for it. */
const MOST_TOGETHER = 128;
/** Times that a round asks for letters of one tube: some 10,000 letters. */
const MOST_CALLS = 80;

/**
 * Removes the dead letters that are too old or too many, of all tubes that a process consumes: soon after the start, and about
 * every minute. It discards them, the oldest first, and deletes their copies. Other processes may do the same at the same time.
 */
export class LetterSweeper {
  /** What a discard without an answer may have taken away: its copies are not deleted yet. */
  private readonly doubtful = new Map<StoredTube, readonly Letter[]>();
  private timer: Timer | undefined;
  private underWay: Promise<void> | undefined;
  private stopped = false;

  constructor(
    /** Before every tube name. */
    private readonly prefix: string,
    private readonly parts: Pick<
      ConsumerParts,
      'cluster' | 'ledger' | 'settleQueue' | 'clock' | 'report' | 'events'
    >,
    /** By tube, without the prefix. */
    private readonly retentions: ReadonlyMap<string, Retention>,
  ) {}

  /** To be called once; nothing after `stop`. */
  start(): void {
    if (!this.stopped) this.waitFor(FIRST_AFTER);
  }

  /** Removes nothing more. Resolves when the copies of what was discarded are deleted. Idempotent; also before `start`. */
  async stop(): Promise<void> {
    this.stopped = true;
    this.timer?.cancel();
    await this.underWay;
  }

  private waitFor(ms: number): void {
    this.timer = this.parts.clock.after(ms, () => void (this.underWay = this.round()));
  }

  private async round(): Promise<void> {
    for (const [tube, retention] of Array.from(this.retentions)) await this.sweep(tube, retention);
    if (!this.stopped) this.waitFor(EVERY);
  }

  private async sweep(tube: string, retention: Retention): Promise<void> {
    const { report, events } = this.parts;
    const storedAs = storedTube(tube, this.prefix);
    const ledger = this.parts.ledger.tube(storedAs);
    const removed: RemovedLetters = { tooOld: 0, tooMany: 0 };
    try {
      let more = true;
      for (let calls = 0; more && calls < MOST_CALLS && !ledger.away && !this.stopped; calls++)
        more = await this.removeSome(storedAs, ledger, retention, removed);
    } catch (thrown) {
      if (!ledger.away) report.notSwept(tube, toError(thrown)); // where it is away, that is reported already
    }
    if (removed.tooOld + removed.tooMany === 0) return;
    report.lettersRemoved(tube, removed);
    events.tell('lettersRemoved', { tube, ...removed });
  }

  /** False: there is nothing more to remove. */
  private async removeSome(
    tube: StoredTube,
    ledger: TubeLedger,
    retention: Retention,
    removed: RemovedLetters,
  ): Promise<boolean> {
    const asked = this.doubtful.get(tube);
    const { letters, more } = asked
      ? { letters: asked, more: true }
      : await ledger.surplus({ ...retention, limit: MOST_TOGETHER });
    if (letters.length === 0) return false;
    this.doubtful.set(tube, letters);
    const answers = await ledger.discard(letters.map(({ id, born, died }) => ({ id, born, died })));
    this.doubtful.delete(tube);
    // Asked once more, it finds nothing where it took the letter away before. Whoever else took it deletes its copies, too.
    const taken = letters.map((letter, i) => answers[i] ?? (asked && letter)).filter((each) => !!each);
    const oldest = ledger.now() - retention.maxAge;
    for (const { died } of taken) removed[died < oldest ? 'tooOld' : 'tooMany']++;
    await Promise.all(taken.map((letter) => deleteCopies(this.parts, tube, letter, letter.places)));
    return more;
  }
}
