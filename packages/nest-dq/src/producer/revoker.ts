import type { JobRef, JobRefText, RevokeResult } from '../api/job.js';
import { withoutPrefix } from '../api/tube.js';
import { deleteCopies, deleteForCertain } from '../copies/deletion.js';
import { foreignFormatOf, namedCopies } from '../copies/formats/unwrap.js';
import { formatRef, type JobTarget } from '../copies/job-ref.js';
import { parseLocation, type Place } from '../copies/location.js';
import { owedAt } from '../copies/storing.js';
import { DqError, show } from '../errors.js';
import type { OwedCopies, Schedule } from '../ledger/requests.js';
import type { Seal } from '../seal/seal.js';
import type { ForeignJobs } from './foreign-jobs.js';
import { locate } from './job-locator.js';
import { DeferredDeletions } from './deferred-deletions.js';
import type { ProducerContext } from './producer-context.js';
import type { PatientCall } from './retries.js';

/** Copies may exist, in unknown places. */
const SOMEWHERE = { mask: 0, unknown: true } as const;

/** Options of a revoke. */
export interface RevokeCall extends PatientCall {
  /** Ask a running handler to stop. */
  readonly abort: boolean;
  /** Resolve only once all copies on reachable nodes are deleted. `DQ_UNCONFIRMED`: other connections hold some. */
  readonly confirmed: boolean;
}

/** Stops jobs. The ledger's decision is the answer; copies are deleted afterwards. */
export class Revoker {
  private readonly deletions: DeferredDeletions;

  constructor(
    private readonly context: ProducerContext,
    private readonly foreign: ForeignJobs,
  ) {
    this.deletions = new DeferredDeletions(context.parts, context.parts.clock);
  }

  async revoke(ref: JobRef, call: RevokeCall): Promise<RevokeResult> {
    this.context.refuseIfClosed();
    const copies = namedCopies(ref);
    const given = copies ? await this.foreign.find(copies) : this.context.parse(ref);
    if (!given) return 'unknown';
    if (!foreignFormatOf(given.id)) return this.revokeOurs(given, call);
    const revoke = (target: JobTarget, confirmed: boolean) => this.revokeOurs(target, { ...call, confirmed });
    return this.context.retries.run(call, () => this.foreign.revoke(given, revoke));
  }

  /** Resolves once the copies of revoked jobs are deleted, within half a second. */
  close(): Promise<void> {
    return this.deletions.close();
  }

  private async revokeOurs(given: JobTarget, call: RevokeCall): Promise<RevokeResult> {
    const { retries, batched, parts } = this.context;
    const target = given.byId ? await retries.run(call, () => locate(this.context, given)) : given;
    if (!target) return 'unknown';
    const { tube, id, born, due, places } = target;
    const owed = this.owedOf(target, given.byId);
    const stored = call.confirmed || given.byId ? { places } : {};
    const request = { id, born, due, owed, ...stored, abort: call.abort };
    const { result, revoked } = await retries.run(call, () => batched.ask(tube, 'revoke', request));
    if (!revoked) return this.ended(target, result);
    // The record's places are newer than the reference's: the job may have been moved since.
    const known = revoked.places.length > 0 ? revoked.places : revoked.generation === born ? places : [];
    const job = { id, generation: revoked.generation };
    if (result !== 'unknown' && !call.confirmed) {
      await this.deletions.add(tube, job, known);
      return this.ended(target, result, revoked);
    }
    if (!call.confirmed || result === 'running') {
      const everywhere = await deleteCopies(parts, tube, job, known);
      // Nobody had a copy reserved, and the tombstone was written first: an overdue job in a backlog is revoked in time.
      return this.ended(target, result === 'unknown' && everywhere ? 'revoked' : result, revoked);
    }
    const { everywhere, held } = await deleteForCertain(parts, tube, job, known);
    const answer = this.ended(target, result === 'unknown' && everywhere ? 'revoked' : result, revoked);
    this.context.refuseIfClosed(); // once it has left its nodes, it cannot tell whether they are unreachable
    if (answer === 'revoked' && (held.length > 0 || known.length === 0)) throw unconfirmed(target, held);
    return answer;
  }

  private owedOf({ id, places }: JobTarget, byId = false): OwedCopies {
    const foreign = foreignFormatOf(id);
    if (foreign) return foreign.owedOn(this.context.parts.cluster.nodes.length);
    // A job found by id may have copies in places that nobody knows.
    return byId && places.length === 0 ? SOMEWHERE : owedAt(places);
  }

  private ended(target: JobTarget, result: RevokeResult, revoked?: Schedule): RevokeResult {
    const { cluster, events, settings } = this.context.parts;
    if (result === 'revoked' && events.heard('revoked')) {
      const { id, key } = target;
      const ref = refOf(target, revoked, cluster.settings.seal);
      events.emit('revoked', {
        id,
        ...(ref === undefined ? {} : { ref }),
        tube: withoutPrefix(target.tube, settings.prefix),
        ...(key === undefined ? {} : { key }),
      });
    }
    return result;
  }
}

/** If `held` is empty, it is unknown where the copies are. */
function unconfirmed({ id, key }: JobTarget, held: readonly Place[]): DqError {
  const job = key === undefined ? `job ${id}` : `the job with key ${show(key)}`;
  const where = held.map(({ location }) => location).join(', ');
  const fact =
    held.length > 0
      ? `a consumer holds its copy at ${where}, so nobody else can delete it: expected a reply from it; revoke the job again to confirm`
      : 'the locations of its copies are unknown: expected a reference that names them, such as its receipt';
  const message = `${job} is revoked and starts only if Redis loses its data, but ${fact}`;
  const nodes = held.map(({ location }) => [parseLocation(location)!.endpoint, 'a consumer holds the copy']);
  return new DqError('DQ_UNCONFIRMED', message, held.length > 0 ? { nodes: Object.fromEntries(nodes) } : {});
}

/** Returns the reference itself as a string; for a lookup by key, a reference to the job the ledger knew. */
function refOf(
  target: JobTarget,
  known: Schedule | undefined,
  seal: Seal | undefined,
): JobRefText | undefined {
  const { born } = target;
  if (born !== undefined) return formatRef({ ...target, born }, seal);
  return known && formatRef({ ...target, ...known, copies: known.places.length }, seal);
}
