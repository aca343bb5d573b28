import { isGoQueueId } from '../../copies/formats/go-queue.js';
import { toError } from '../../errors.js';
import { ownerOf } from '../../go-queue/locks.js';
import type { TubeContext } from '../tube-context.js';
import { deathOf, type RunOutcome } from './outcome.js';
import type { Run } from './run.js';

/** Pause between attempts to adopt a job, in ms. */
const ADOPT_AGAIN = 1_000;
/** Time from a lock without an answer until the run is handed back, in ms. */
const LOCK_AGAIN = 1_000;

/** The special treatment of jobs stored by go-queue. */
export class GoQueueRuns {
  constructor(private readonly context: TubeContext) {}

  /** Turns the job into one of ours, after which this copy isn't needed any more. Never rejects. */
  async adopt(run: Run): Promise<RunOutcome> {
    const { delivery, id } = run;
    const { goQueueRole: role, goQueue, storedAs, tube, ledger, report } = this.context;
    const { due } = delivery.header;
    const late = ledger.now() - due;
    if (role && 'adopts' in role && late > role.late) {
      const minutes = Math.round(late / 60_000);
      const error = new Error(
        `it is ${minutes} minutes overdue, so it is unknown whether go-queue has run it`,
      );
      return { kind: 'dead', death: deathOf('stale', error), error };
    }
    // Not by a ledger retry: that would list the job, which go-queue may run meanwhile without informing the ledger.
    for (; run.handling; await this.pause(ADOPT_AGAIN)) {
      try {
        await goQueue.adopt(storedAs, delivery, { key: id, due });
        return { kind: 'done' };
      } catch (thrown) {
        report.notAdopted(tube, id, toError(thrown));
      }
    }
    return { kind: 'back' };
  }

  /** Whether it runs only with go-queue's lock. */
  locks({ delivery }: Run): boolean {
    const { goQueueRole: role } = this.context;
    return role !== undefined && 'locks' in role && isGoQueueId(delivery.header.key);
  }

  /** Resolves with undefined if it has the lock, otherwise with the outcome of the run without its handler. Never rejects. */
  async lock({ delivery, id }: Run): Promise<RunOutcome | undefined> {
    const { goQueue, report, tube } = this.context;
    const { key, born } = delivery.header;
    try {
      // If go-queue has started it, or it is revoked, it is finished here.
      return (await goQueue.locks.take(key!, ownerOf(born))) ? undefined : { kind: 'done' };
    } catch (thrown) {
      report.ledgerTrouble(tube, id, toError(thrown));
      await this.pause(LOCK_AGAIN);
      return { kind: 'back' };
    }
  }

  private pause(ms: number): Promise<void> {
    return new Promise((resolve) => void this.context.clock.after(ms, resolve));
  }
}
