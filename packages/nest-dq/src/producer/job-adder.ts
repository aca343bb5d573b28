import { randomFillSync } from 'node:crypto';
import { monotonicFactory } from 'ulid';
import { withHeaders, type ResolvedJobOptions } from '../api/job-options.js';
import type { JobReceipt } from '../api/job.js';
import type { StoredTube } from '../api/tube.js';
import { deleteCopies } from '../copies/deletion.js';
import { jobHeader, type WrittenJob } from '../copies/header.js';
import { formatRef, keyedId } from '../copies/job-ref.js';
import { isUnknown, type Place } from '../copies/location.js';
import type { Content } from '../copies/payload.js';
import {
  envelopeFor,
  owedAt,
  refuseTooLarge,
  storeCopies,
  tooFewCopies,
  type Stored,
} from '../copies/storing.js';
import { stagger } from '../copies/timing.js';
import { DqError, show, toError } from '../errors.js';
import type { DqHooks } from '../events/hooks.js';
import type { Schedule } from '../ledger/requests.js';
import type { Seal } from '../seal/seal.js';
import { conflict, insist, isEnough, MAY_RUN, NOTHING_RUNS, storeGeneration } from './generations.js';
import type { ProducerContext } from './producer-context.js';

/** A validated job to schedule. */
export interface NewJob {
  readonly tube: string;
  readonly storedAs: StoredTube;
  /** The cluster's seal, if any. */
  readonly seal: Seal | undefined;
  readonly content: Content;
  readonly options: ResolvedJobOptions;
  /** Ledger time in ms. */
  readonly due: number;
  /** Clock time until which ledger calls are retried. */
  readonly until: number;
  /** Keyed jobs only: kept out by any job of the key that was born after this generation, even one that has ended. */
  readonly after?: number;
}

/** Adds jobs in one format. */
export interface Adder {
  /** Returns the options with which a job is added to the tube (without the prefix). `DQ_BAD_OPTION`, `DQ_BAD_PAYLOAD`. */
  prepare(tube: string, options: ResolvedJobOptions, content: Content): ResolvedJobOptions;
  /** Adds a job. Rejects an invalid job before anything is stored. A failed add may be retried. */
  add(job: NewJob): Promise<JobReceipt>;
}

/** Adds jobs in our format: a plain one without the ledger, a keyed one by opening and committing a generation. */
export class JobAdder implements Adder {
  private readonly nextId = monotonicFactory(randomFractions());

  constructor(private readonly context: ProducerContext) {}

  /** Adds the headers of a hook. Call it in the context of the add's caller. */
  prepare(tube: string, options: ResolvedJobOptions): ResolvedJobOptions {
    const { onSchedule } = this.context.parts;
    return onSchedule ? withHookHeaders(onSchedule, options, tube) : options;
  }

  /** Throws `DQ_BAD_PAYLOAD` if a keyed job is too large for a node. */
  refuseTooLarge(job: NewJob, id: string): void {
    refuseTooLarge(this.context.parts.cluster, this.envelopeOf(job, id, job.due));
  }

  add(job: NewJob): Promise<JobReceipt> {
    return job.options.key === undefined ? this.addPlain(job) : this.addKeyed(job, job.options.key);
  }

  /** Uses a new id for each try, since the ledger may have a tombstone for the previous one. */
  private async addPlain(job: NewJob): Promise<JobReceipt> {
    const { storedAs: tube } = job;
    const { index, parts } = this.context;
    const { clock, cluster, settings } = parts;
    const begunAt = clock.now();
    const ledger = parts.ledger.tube(tube);
    const id = this.nextId(Math.floor(ledger.now()));
    const envelope = this.envelopeOf(job, id, 0);
    refuseTooLarge(cluster, envelope);
    const stored = await storeCopies(cluster, { tube, envelope, backupDelay: settings.backupDelay, ledger });
    if (!stored.enough) throw await this.undo(job, id, stored, begunAt);
    index?.add(tube, { id, due: stored.due, places: stored.places });
    return receipt(job, id, stored, 'added');
  }

  private async addKeyed(job: NewJob, key: string, tries = 1): Promise<JobReceipt> {
    const { storedAs, until, after } = job;
    const { parts } = this.context;
    const id = keyedId(storedAs, key);
    const result = await storeGeneration(this.context, {
      tube: storedAs,
      id,
      opening: { by: 'add', onDuplicate: job.options.onDuplicate, ...(after !== undefined && { after }) },
      envelope: this.envelopeOf(job, id, job.due), // same number of digits as the real one
      until,
    });
    if (!result.stored) return taken(job, id, result.answer.present);
    const { stored, answer, before } = result;
    if (answer.kind === 'refused') {
      const { why, present } = answer;
      // Scheduled, then revoked before this call ended.
      if (why === 'revoked') return receipt(job, id, stored, 'added');
      // If nothing newer has the key, the job was only moved in the meantime, or a run of it was granted.
      const isOutdone = present && present.generation > stored.generation && present.born !== before?.born;
      if (why !== 'taken' && !isOutdone) {
        if (isEnough(tries, parts.clock, until)) throw conflict(`the key ${show(key)}`, tries);
        return this.addKeyed(job, key, tries + 1);
      }
      return why === 'overtaken' ? overtaken(job, id, stored, before, present) : taken(job, id, present);
    }
    // If an earlier call or a claim committed it, the job seen when opening is the one replaced, unless another got in between.
    const replaced = answer.replaced ?? (answer.already ? before : undefined);
    if (replaced) void deleteCopies(parts, storedAs, { id, ...replaced }, replaced.places);
    return receipt(job, id, stored, replaced ? 'replaced' : 'added');
  }

  private envelopeOf(
    { storedAs, due, options, content }: NewJob,
    id: string,
    generation: number,
  ): WrittenJob {
    const { cluster } = this.context.parts;
    const copies = cluster.settings.replicas;
    return envelopeFor(cluster, storedAs, jobHeader({ id, due, generation, copies }, options), content);
  }

  /** Undoes a plain job that was stored on too few nodes. The returned error says whether that is certain. */
  private async undo(job: NewJob, id: string, stored: Stored, begunAt: number): Promise<DqError> {
    const { batched, parts } = this.context;
    const { cluster, clock } = parts;
    const { storedAs } = job;
    const { places, due } = stored;
    if (places.length === 0) return tooFewCopies(cluster, stored, NOTHING_RUNS, false);
    const deleted = await deleteCopies(parts, storedAs, { id, generation: 0 }, places);
    if (deleted && this.noneSurfaced(places, begunAt)) {
      return tooFewCopies(cluster, stored, NOTHING_RUNS, false);
    }
    const revoke = { id, born: 0, due, owed: owedAt(places), abort: false };
    const ask = () => batched.ask(storedAs, 'revoke', revoke);
    const answer = await insist(clock, job.until, ask);
    if (answer instanceof DqError) return tooFewCopies(cluster, stored, MAY_RUN, true);
    if (answer.begun) return tooFewCopies(cluster, stored, 'a run of it has already started', true);
    // A copy whose claim failed can be deleted too, so only the record shows whether it ran.
    const undone = answer.result === 'revoked';
    return tooFewCopies(cluster, stored, undone ? NOTHING_RUNS : MAY_RUN, !undone);
  }

  /**
   * Whether no copy has surfaced yet. A backup surfaces no sooner than one second after its put, so if it was deleted before
   * then, it never ran.
   */
  private noneSurfaced(places: readonly Place[], begunAt: number): boolean {
    const { clock, settings } = this.context.parts;
    const firstSurfaces = begunAt + stagger(1, settings.backupDelay) * 1_000;
    return places.every(({ index }) => index > 0) && clock.now() < firstSurfaces;
  }
}

function withHookHeaders(
  onSchedule: NonNullable<DqHooks['onSchedule']>,
  options: ResolvedJobOptions,
  tube: string,
): ResolvedJobOptions {
  const headers = { ...options.headers };
  try {
    onSchedule(headers, { tube, key: options.key });
  } catch (cause) {
    const fact = `the \`onSchedule\` of a hook failed: ${toError(cause).message}`;
    throw new DqError('DQ_BAD_OPTION', fact, { cause });
  }
  return withHeaders(options, headers);
}

/** Draws from a buffer of random bytes, because requesting each byte takes longer than the rest of creating an id. */
function randomFractions(): () => number {
  const stock = new Uint8Array(4_096);
  let next = stock.length;
  return () => {
    if (next === stock.length) {
      randomFillSync(stock);
      next = 0;
    }
    return stock[next++]! / 256;
  };
}

/** The key's existing job stays. Returns its receipt, or throws if the caller asked for that. */
function taken(job: NewJob, id: string, present: Schedule | undefined): JobReceipt {
  const { tube, options } = job;
  const { key } = options;
  if (options.onDuplicate === 'reject' || !present) {
    throw new DqError(
      'DQ_DUPLICATE',
      `the key ${show(key)} of ${show(tube)} is taken by a waiting or running job` +
        (present ? `, due at ${new Date(present.due).toISOString()}` : ''),
    );
  }
  const { born, due, places } = present;
  const copies = places.filter(({ location }) => !isUnknown(location)).length;
  return receipt(job, id, { generation: born, due, planned: places.length, places, copies }, 'kept');
}

/**
 * A newer job has the key. This one may have had it before, and may have run. With `replace` it counts as added right before the
 * newer one; otherwise it is unknown whether the newer one took precedence.
 */
function overtaken(
  job: NewJob,
  id: string,
  stored: Stored,
  before: Schedule | undefined,
  present: Schedule | undefined,
): JobReceipt {
  const { tube, options } = job;
  // It was moved, or has run and been scheduled again.
  const goesOn = present?.born === stored.generation;
  if (goesOn || options.onDuplicate === 'replace') {
    return receipt(job, id, stored, before ? 'replaced' : 'added');
  }
  throw new DqError(
    'DQ_DUPLICATE',
    `the key ${show(options.key)} of ${show(tube)} has a newer job, and it is unknown whether this job ran before`,
    { indeterminate: true },
  );
}

export function receipt(
  job: NewJob,
  id: string,
  stored: Pick<Stored, 'generation' | 'due' | 'planned' | 'places' | 'copies'>,
  status: JobReceipt['status'],
): JobReceipt {
  const { generation, due, planned, places, copies } = stored;
  const { key } = job.options;
  const content = { tube: job.storedAs, id, key, born: generation, due, copies: planned, places };
  const ref = formatRef(content, job.seal);
  const dueAt = new Date(due);
  const { tube } = job;
  return key === undefined
    ? { id, ref, tube, dueAt, copies, status }
    : { id, ref, tube, key, dueAt, copies, status };
}
