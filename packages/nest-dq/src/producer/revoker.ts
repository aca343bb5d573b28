import type { JobRef, JobRefText, RevokeResult } from '../api/job.js';
import { withoutPrefix } from '../api/tube.js';
import { deleteCopies } from '../copies/deletion.js';
import { goQueueCopies, goQueueOwed, isGoQueueId } from '../copies/formats/go-queue.js';
import { formatRef, type JobTarget } from '../copies/job-ref.js';
import { owedAt } from '../copies/storing.js';
import type { OwedCopies, Schedule } from '../ledger/requests.js';
import type { Seal } from '../seal/seal.js';
import type { GoQueueJobs } from './go-queue-jobs.js';
import { located } from './job-locator.js';
import { DeletionsBehind } from './deletions-behind.js';
import type { ProducerContext } from './producer-context.js';
import type { PatientCall } from './retries.js';

/** Copies may exist, at unknown places. */
const SOMEWHERE = { mask: 0, unknown: true } as const;

/** What a revoke was asked for. */
export interface RevokeCall extends PatientCall {
  /** Asks a handler that runs to stop. */
  readonly abort: boolean;
  /** It is answered when the copies are deleted, as far as their nodes can be asked. */
  readonly confirmed: boolean;
}

/** Stops jobs: their ledger decides, which is the answer, and their copies are deleted behind it. */
export class Revoker {
  private readonly behind: DeletionsBehind;

  constructor(
    private readonly context: ProducerContext,
    private readonly goQueue: GoQueueJobs,
  ) {
    this.behind = new DeletionsBehind(context.parts, context.parts.clock);
  }

  async revoke(ref: JobRef, call: RevokeCall): Promise<RevokeResult> {
    this.context.refuseIfClosed();
    const copies = goQueueCopies(ref);
    const given = copies ? await this.goQueue.find(copies) : this.context.parse(ref);
    if (!given) return 'unknown';
    if (!isGoQueueId(given.id)) return this.revokeOurs(given, call);
    // go-queue does not ask the ledger: its copies are gone before the answer, as far as their nodes can be asked.
    const revoke = (target: JobTarget) => this.revokeOurs(target, { ...call, confirmed: true });
    return this.context.retries.run(call, () => this.goQueue.revoke(given, revoke));
  }

  /** Resolves once the copies of the revoked jobs are deleted, within half a second. */
  close(): Promise<void> {
    return this.behind.close();
  }

  private async revokeOurs(given: JobTarget, call: RevokeCall): Promise<RevokeResult> {
    const { retries, batched, parts } = this.context;
    const target = given.byId ? await retries.run(call, () => located(this.context, given)) : given;
    if (!target) return 'unknown';
    const { tube, id, born, due, places } = target;
    const owed = this.owedOf(target, given.byId);
    const request = { id, born, due, owed, abort: call.abort };
    const { result, revoked } = await retries.run(call, () => batched.ask(tube, 'revoke', request));
    if (!revoked) return this.ended(target, result);
    // The record's places are newer than the reference's: the job may have been moved since.
    const known = revoked.places.length > 0 ? revoked.places : revoked.generation === born ? places : [];
    const job = { id, generation: revoked.generation };
    if (result !== 'unknown' && !call.confirmed) {
      await this.behind.add(tube, job, known);
      return this.ended(target, result, revoked);
    }
    const everywhere = await deleteCopies(parts, tube, job, known);
    // Nobody had a copy reserved, and the tombstone came first: an overdue job in a backlog is revoked in time.
    return this.ended(target, result === 'unknown' && everywhere ? 'revoked' : result, revoked);
  }

  private owedOf({ id, places }: JobTarget, byId = false): OwedCopies {
    if (isGoQueueId(id)) return goQueueOwed(this.context.parts.cluster.nodes.length);
    // A job that was found by its id may have copies at places that nobody knows.
    return byId && places.length === 0 ? SOMEWHERE : owedAt(places);
  }

  private ended(target: JobTarget, result: RevokeResult, revoked?: Schedule): RevokeResult {
    const { cluster, events, settings } = this.context.parts;
    if (result === 'revoked' && events.heard('revoked')) {
      const { id, key } = target;
      const ref = refOf(target, revoked, cluster.settings.seal);
      events.tell('revoked', {
        id,
        ...(ref === undefined ? {} : { ref }),
        tube: withoutPrefix(target.tube, settings.prefix),
        ...(key === undefined ? {} : { key }),
      });
    }
    return result;
  }
}

/** The text of the reference itself. For one by key: of the job that the ledger knew. */
function refOf(
  target: JobTarget,
  known: Schedule | undefined,
  seal: Seal | undefined,
): JobRefText | undefined {
  const { born } = target;
  if (born !== undefined) return formatRef({ ...target, born }, seal);
  return known && formatRef({ ...target, ...known, copies: known.places.length }, seal);
}
