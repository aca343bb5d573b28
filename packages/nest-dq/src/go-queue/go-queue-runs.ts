import { nestTube, type Tube, type TubeWires } from '../api/tube.js';
import { deathOf, type RunOutcome } from '../consumer/run/outcome.js';
import type { Run } from '../consumer/run/run.js';
import {
  NOT_SHARED,
  type SharedTubes,
  type TubeContext,
  type TubeSharing,
} from '../consumer/tube-context.js';
import { toError } from '../errors.js';
import type { Adopt } from '../producer/producer-context.js';
import { isGoQueueId } from './go-queue-format.js';
import { ownerOf, UNCERTAIN_AFTER_MS, type GoQueueLocks } from './locks.js';

/** Pause between attempts to adopt a job. */
const ADOPT_AGAIN_MS = 1_000;
/** Time from a lock without an answer until the run is handed back. */
const LOCK_AGAIN_MS = 1_000;

/** Consuming tubes shared with go-queue: what it stores in a tube continues as jobs of ours in the `.nest` tube. */
export class GoQueueTubes implements SharedTubes {
  constructor(
    private readonly wires: TubeWires,
    private readonly locks: GoQueueLocks,
    private readonly adopt: Adopt,
  ) {}

  tubesOf(tube: string | Tube, name: string): { readonly name: string; readonly sharing: TubeSharing }[] {
    const wire = this.wires.of(tube, name);
    if (wire === undefined) return [{ name, sharing: NOT_SHARED }];
    // Without go-queue's consumers nobody else can have run an overdue job.
    const late = wire === 'go-queue' ? UNCERTAIN_AFTER_MS : Infinity;
    return [
      { name, sharing: new AdoptingTube(this.adopt, late) },
      { name: nestTube(name), sharing: new LockingTube(this.locks) },
    ];
  }
}

/** A tube in which go-queue stores jobs. Those overdue by more than `late` ms are dead, because go-queue may have run them. */
export class AdoptingTube implements TubeSharing {
  readonly adopts = true;

  constructor(
    private readonly intoOurs: Adopt,
    private readonly late: number,
  ) {}

  start(): void {}

  async adopt(run: Run, context: TubeContext): Promise<RunOutcome> {
    const { delivery, id } = run;
    const { storedAs, tube, ledger, report } = context;
    const { due } = delivery.header;
    const late = ledger.now() - due;
    if (late > this.late) {
      const minutes = Math.round(late / 60_000);
      const error = new Error(
        `it is ${minutes} minutes overdue, so it is unknown whether go-queue has run it`,
      );
      return { kind: 'dead', death: deathOf('stale', error), error };
    }
    // Not by a ledger retry: that would list the job, which go-queue may run meanwhile without informing the ledger.
    for (; run.handling; await pause(context, ADOPT_AGAIN_MS)) {
      try {
        await this.intoOurs(storedAs, delivery, { key: id, due });
        return { kind: 'done' };
      } catch (thrown) {
        report.notAdopted(tube, id, toError(thrown));
      }
    }
    return { kind: 'back' };
  }

  lock(): undefined {}
}

/** The `.nest` tube, whose adopted jobs run only with go-queue's lock. */
export class LockingTube implements TubeSharing {
  readonly adopts = false;

  constructor(private readonly locks: GoQueueLocks) {}

  start(): void {
    this.locks.start();
  }

  adopt(run: Run, context: TubeContext): Promise<RunOutcome> {
    return NOT_SHARED.adopt(run, context);
  }

  lock(run: Run, context: TubeContext): Promise<RunOutcome | undefined> | undefined {
    const { key, born } = run.delivery.header;
    return isGoQueueId(key) ? this.take(key!, born, run.id, context) : undefined;
  }

  private async take(
    key: string,
    born: number,
    id: string,
    context: TubeContext,
  ): Promise<RunOutcome | undefined> {
    try {
      // If go-queue has started it, or it is revoked, it is finished here.
      return (await this.locks.take(key, ownerOf(born))) ? undefined : { kind: 'done' };
    } catch (thrown) {
      context.report.ledgerTrouble(context.tube, id, toError(thrown));
      await pause(context, LOCK_AGAIN_MS);
      return { kind: 'back' };
    }
  }
}

function pause({ clock }: TubeContext, ms: number): Promise<void> {
  return new Promise((resolve) => void clock.after(ms, resolve));
}
