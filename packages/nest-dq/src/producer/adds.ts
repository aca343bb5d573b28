import { randomFillSync } from 'node:crypto';
import { monotonicFactory } from 'ulid';
import { deleteCopies } from '../copies/deletion.js';
import {
  announcedBy,
  envelopeFor,
  owedAt,
  refuseTooLarge,
  storeCopies,
  tooFewCopies,
  type Stored,
} from '../copies/storing.js';
import { stagger } from '../copies/timing.js';
import type { JobEnvelope } from '../copies/formats/dq1.js';
import type { Content } from '../copies/payload.js';
import { DqError, show } from '../errors.js';
import { formatRef, keyedId } from '../copies/job-ref.js';
import type { ResolvedJobOptions } from '../api/job-options.js';
import type { JobReceipt } from '../api/job.js';
import type { StoredTube } from '../api/tube.js';
import type { TubeLedger } from '../ledger/ledger.js';
import type { Schedule } from '../ledger/requests.js';
import { isUnknown, type Place } from '../copies/location.js';
import type { BatchedLedger } from './batched-ledger.js';
import { abortAndDelete, answered, ask, commit, conflict, isEnough } from './generations.js';
import type { ProducerParts } from './producer-parts.js';
import type { PatientCall, Retries, Together } from './retries.js';

/** A job that is to be scheduled, checked. */
export interface NewJob {
  /** The tube as the user names it. */
  readonly name: string;
  readonly tube: StoredTube;
  readonly content: Content;
  readonly options: ResolvedJobOptions;
  /** Ledger time, ms. */
  readonly due: number;
  /** When it was asked for: the clock's `now`, before anything was stored. */
  readonly calledAt: number;
  /** Those of one call. */
  readonly together?: Together;
}

type KeyedJob = NewJob & { readonly key: string; readonly id: string };

const NOTHING_RUNS = 'nothing of it will run';
const MAY_RUN = 'it may still run';

/** One of the two. */
export type AddDone = (error: unknown, receipt?: JobReceipt) => void;

/** Schedules new jobs: a plain one without the ledger, a keyed one by opening a generation and committing it. */
export class Adds {
  private readonly nextId = monotonicFactory(randomFractions());

  constructor(
    private readonly parts: ProducerParts,
    private readonly batched: BatchedLedger,
    private readonly retries: Retries,
  ) {}

  /** Throws what is wrong with the job, before anything is stored. */
  add(job: NewJob, done: AddDone): void {
    const { key } = job.options;
    if (key !== undefined) {
      const keyed = { ...job, key, id: keyedId(job.tube, key) };
      const added = (result: JobReceipt) => done(undefined, result);
      this.addKeyed(keyed).then(added, (error: unknown) => {
        this.retries.again(error, this.patientCall(job), () => this.addKeyed(keyed)).then(added, done);
      });
      return;
    }
    const id = this.newId(job);
    this.storePlain(job, id, (stored) => {
      if (stored.enough) done(undefined, receipt(job, id, stored, 'added'));
      else this.insist(job, id, stored, done);
    });
  }

  private newId({ tube }: NewJob): string {
    return this.nextId(Math.floor(this.parts.ledger.tube(tube).now()));
  }

  private storePlain(job: NewJob, id: string, done: (stored: Stored) => void): void {
    const envelope = this.envelopeOf(job, id, 0);
    refuseTooLarge(this.parts.cluster, envelope);
    this.store(this.parts.ledger.tube(job.tube), job.tube, envelope, done);
  }

  /** Of a plain job that was stored on too few nodes. */
  private insist(job: NewJob, firstId: string, firstStored: Stored, done: AddDone): void {
    const again = async () => {
      const begunAt = this.parts.clock.now();
      // A new one: the ledger may have a tombstone for the last.
      const id = this.newId(job);
      const stored = await new Promise<Stored>((resolve) => this.storePlain(job, id, resolve));
      if (stored.enough) return receipt(job, id, stored, 'added');
      throw await this.undo(job, id, stored, begunAt);
    };
    this.undo(job, firstId, firstStored, job.calledAt)
      .then((error) => this.retries.again(error, this.patientCall(job), again))
      .then((added) => done(undefined, added), done);
  }

  private patientCall({ content, options, together }: NewJob): PatientCall {
    const { patience = this.parts.settings.patience } = options;
    return { patience, together, bytes: content.bytes.length };
  }

  /** By the clock: how long what is under way is insisted on. */
  private until({ options, calledAt }: NewJob): number {
    return calledAt + (options.patience ?? this.parts.settings.patience);
  }

  private async addKeyed(job: KeyedJob, tries = 1): Promise<JobReceipt> {
    const { id, tube, due } = job;
    const { cluster, ledger, settleQueue, clock } = this.parts;
    const tubeLedger = ledger.tube(tube);
    // The number of a generation has as many digits as the due time.
    refuseTooLarge(cluster, this.envelopeOf(job, id, due));
    const opening = { by: 'add', onDuplicate: job.options.onDuplicate } as const;
    const batched = this.batched.tube(tube);
    const opened = await ask(batched.open({ id, opening, due, announced: announcedBy(cluster) }));
    if (opened.kind === 'refused') return taken(job, opened.present);
    const { generation } = opened;
    const envelope = this.envelopeOf(job, id, generation);
    const stored = await new Promise<Stored>((resolve) => this.store(tubeLedger, tube, envelope, resolve));
    if (!stored.enough) throw await this.undoKeyed(job, stored);
    const request = { ...stored, id, born: generation, opening };
    const answer = await commit(batched, clock, request, this.until(job));
    if (answer.kind === 'refused') {
      void deleteCopies(cluster, settleQueue, tube, { id, generation }, stored.places);
      const { why, present } = answer;
      // It was scheduled, and then revoked before this call had ended.
      if (why === 'revoked') return receipt(job, id, stored, 'added');
      // What it was to replace was only moved in between.
      if (why !== 'taken' && present && present.born === opened.present?.born) {
        if (isEnough(tries, clock, this.until(job))) throw conflict(`the key ${show(job.key)}`, tries);
        return this.addKeyed(job, tries + 1);
      }
      return why === 'overtaken' ? overtaken(job, stored, opened.present, present) : taken(job, present);
    }
    // What an earlier call or a claim has replaced the opening saw, if nothing came in between.
    const replaced = answer.replaced ?? (answer.already ? opened.present : undefined);
    if (replaced) {
      const old = { id, generation: replaced.generation };
      void deleteCopies(cluster, settleQueue, tube, old, replaced.places);
    }
    return receipt(job, id, stored, replaced ? 'replaced' : 'added');
  }

  private envelopeOf({ due, options, content }: NewJob, id: string, generation: number): JobEnvelope {
    const { key, priority, attempts, backoff, headers } = options;
    const header = { id, due, generation, key, priority, attempts, backoff, headers };
    return envelopeFor(this.parts.cluster, header, content);
  }

  private store(
    ledger: TubeLedger,
    tube: StoredTube,
    envelope: JobEnvelope,
    done: (stored: Stored) => void,
  ): void {
    const { cluster, settings } = this.parts;
    storeCopies(cluster, { tube, envelope, backupDelay: settings.backupDelay }, () => ledger.now(), done);
  }

  /** Takes back a plain job that was stored on too few nodes, and tells whether that is certain. */
  private async undo(job: NewJob, id: string, stored: Stored, begunAt: number): Promise<DqError> {
    const { cluster, settleQueue, clock } = this.parts;
    const { tube } = job;
    const { places, due } = stored;
    if (places.length === 0) return tooFewCopies(cluster, stored, NOTHING_RUNS, false);
    const deleted = await deleteCopies(cluster, settleQueue, tube, { id, generation: 0 }, places);
    if (deleted && this.noneSurfaced(places, begunAt)) {
      return tooFewCopies(cluster, stored, NOTHING_RUNS, false);
    }
    const revoke = { id, born: 0, due, owed: owedAt(places), abort: false };
    const batched = this.batched.tube(tube);
    const answer = await answered(clock, this.until(job), () => batched.revoke(revoke));
    if (answer?.begun) return tooFewCopies(cluster, stored, 'a run of it was begun already', true);
    // A claim that failed leaves a copy to be deleted, too: only the record knows.
    const undone = answer?.result === 'revoked';
    return tooFewCopies(cluster, stored, undone ? NOTHING_RUNS : MAY_RUN, !undone);
  }

  /** A backup surfaces a second after its put at the earliest, so what was deleted by then has never run. */
  private noneSurfaced(places: readonly Place[], begunAt: number): boolean {
    const { clock, settings } = this.parts;
    const firstSurfaces = begunAt + stagger(1, settings.backupDelay) * 1_000;
    return places.every(({ index }) => index > 0) && clock.now() < firstSurfaces;
  }

  private async undoKeyed(job: KeyedJob, stored: Stored): Promise<DqError> {
    const { cluster } = this.parts;
    const { id, tube } = job;
    const batched = this.batched.tube(tube);
    const undone = await abortAndDelete(this.parts, batched, tube, id, stored, this.until(job));
    return tooFewCopies(cluster, stored, undone ? NOTHING_RUNS : MAY_RUN, !undone);
  }
}

/** From a stock of random bytes: asking for each by itself takes longer than all else about an id. */
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

/** The key's present job stays: its receipt, or an error where that was asked for. */
function taken(job: KeyedJob, present: Schedule | undefined): JobReceipt {
  const { name, tube, id, key } = job;
  if (job.options.onDuplicate === 'reject' || !present) {
    throw new DqError(
      'DQ_DUPLICATE',
      `the key ${show(key)} of ${show(name)} is taken: a job waits or runs under it` +
        (present ? `, due at ${new Date(present.due).toISOString()}` : ''),
    );
  }
  const { born, due, places } = present;
  const ref = formatRef({ tube, id, key, born, due, copies: places.length, places });
  const copies = places.filter(({ location }) => !isUnknown(location)).length;
  return { id, ref, tube: name, key, dueAt: new Date(due), copies, status: 'kept' };
}

/**
 * A newer job has the key, and this one may have been the key's before, and have run. If it is to replace, it is as if it
 * was added right before the newer one; otherwise the newer one is perhaps what it had to give way to.
 */
function overtaken(
  job: KeyedJob,
  stored: Stored,
  before: Schedule | undefined,
  present: Schedule | undefined,
): JobReceipt {
  const { name, id, key } = job;
  // It was moved, or it came again.
  const goesOn = present?.born === stored.generation;
  if (goesOn || job.options.onDuplicate === 'replace') {
    return receipt(job, id, stored, before ? 'replaced' : 'added');
  }
  throw new DqError(
    'DQ_DUPLICATE',
    `the key ${show(key)} of ${show(name)} has a newer job, and it is unknown whether this job ran before`,
    { indeterminate: true },
  );
}

function receipt(job: NewJob, id: string, stored: Stored, status: JobReceipt['status']): JobReceipt {
  const { generation, due, planned, places, copies } = stored;
  const { key } = job.options;
  const ref = formatRef({ tube: job.tube, id, key, born: generation, due, copies: planned, places });
  return {
    id,
    ref,
    tube: job.name,
    ...(key === undefined ? {} : { key }),
    dueAt: new Date(due),
    copies,
    status,
  };
}
