// Every ledger, and what a spec does with one job of it: calls with what does not matter filled in.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect } from '@jest/globals';
import type { TubeLedger } from 'nest-dq/src/ledger/ledger.js';
import type {
  AbortRequest,
  ClaimAnswer,
  ClaimRequest,
  CommitAnswer,
  CommitRequest,
  CompleteRequest,
  OpenAnswer,
  OpenRequest,
  RevokeAnswer,
  RevokeRequest,
  RunRef,
} from 'nest-dq/src/ledger/requests.js';
import type { OnDuplicate } from 'nest-dq/src/api/job.js';
import type { Place } from 'nest-dq/src/copies/location.js';
import {
  clusterHarness,
  diskHarness,
  memoryHarness,
  redisHarness,
  SETTINGS,
  type LedgerHarness,
} from './ledger-harness.js';

export const THREE = { mask: 0b111, unknown: false };
export const NONE = { mask: 0, unknown: false };
export const MINUTE = 60_000;
/** The age of a generation whose commit is surely not under way any more. */
export const OLD = 11_000;
/** How long a record with copies left is kept, counted from the latest time in it. */
export const KEPT = 2 * SETTINGS.staleAfter + MINUTE;

/** States the same facts about the ledger in memory, in Redis and in a Redis Cluster. */
export function everyLedger(facts: (jobs: LedgerJobs) => void): void {
  describe.each([
    ['memory', memoryHarness],
    ['memory and on disk', diskHarness],
    ['Redis', redisHarness],
    ['Redis Cluster', clusterHarness],
  ])('the ledger in %s', (_name, createHarness) => {
    const jobs = new LedgerJobs();
    let tubes = 0;

    beforeAll(async () => {
      jobs.harness = await createHarness();
    }, 60_000);

    afterAll(() => jobs.harness.stop());

    beforeEach(async () => {
      await jobs.harness.open();
      jobs.tubeName = `orders.cancel;$(v${tubes++})`;
      jobs.tube = jobs.harness.tube(jobs.tubeName);
      await jobs.tube.readTime();
    });

    afterEach(() => jobs.harness.close());

    facts(jobs);
  });
}

/** One tube's jobs; the job is `job` where none is named. */
export class LedgerJobs {
  harness!: LedgerHarness;
  tube!: TubeLedger;
  tubeName!: string;

  /** Ledger time now, in whole ms, for dues. */
  readonly nowMs = () => Math.floor(this.tube.now());
  /** So much time passes, by the server's clock too. */
  readonly pass = (ms: number) => this.harness.until(this.tube, this.tube.now() + ms);
  /** Milliseconds until the record is forgotten. */
  readonly forgottenIn = () => this.harness.forgottenIn(this.tubeName, 'job');

  /** Bytes that the record takes. */
  readonly size = () => this.harness.size(this.tubeName, 'job');

  /** A claim of a job that is due: by enough that this process may be a little wrong about the server's time. */
  readonly copy = (over: Partial<ClaimRequest> = {}): ClaimRequest => ({
    id: 'job',
    generation: 0,
    born: over.generation ?? 0,
    due: this.nowMs() - 1_000,
    token: 'a',
    attempts: 10,
    ...over,
  });

  readonly claim = async (over: Partial<ClaimRequest> = {}): Promise<ClaimAnswer> => {
    const [answer] = await this.tube.claim([this.copy(over)]);
    return answer!;
  };

  /** The run that such a claim is given. */
  readonly run = async (over: Partial<ClaimRequest> = {}): Promise<RunRef> => {
    const request = this.copy(over);
    const lastOk = this.tube.now();
    const [answer] = await this.tube.claim([request]);
    return { ...runOf(request, answer), lastOk };
  };

  readonly complete = async (
    ref: RunRef,
    outcome: CompleteRequest['outcome'],
    owed: CompleteRequest['owed'] = THREE,
  ) => {
    const [answer] = await this.tube.complete([{ ...ref, owed, outcome }]);
    return answer!;
  };

  readonly done = (ref: RunRef) => this.complete(ref, { kind: 'done' });

  readonly extend = async (ref: RunRef) => {
    const [answer] = await this.tube.extend([ref]);
    return answer!;
  };

  readonly open = async (over: Partial<OpenRequest> = {}): Promise<OpenAnswer> => {
    const due = this.nowMs() - 1_000;
    const request = { id: 'job', opening: adding(), due, announced: THREE.mask };
    const [answer] = await this.tube.open([{ ...request, ...over }]);
    return answer!;
  };

  /** The generation that such an opening is given. */
  readonly opened = async (over: Partial<OpenRequest> = {}): Promise<number> => {
    const answer = await this.open(over);
    if (answer.kind !== 'opened') throw new Error(`opened, and answered ${JSON.stringify(answer)}`);
    return answer.generation;
  };

  readonly commit = async (generation: number, over: Partial<CommitRequest> = {}): Promise<CommitAnswer> => {
    const due = this.nowMs() - 1_000;
    const request = {
      id: 'job',
      opening: adding(),
      generation,
      born: generation,
      due,
      announced: THREE.mask,
      owed: THREE,
      places: [],
      undecidedUntil: this.nowMs() + MINUTE,
    };
    const [answer] = await this.tube.commit([{ ...request, ...over }]);
    return answer!;
  };

  readonly abort = async (generation: number, over: Partial<AbortRequest> = {}) => {
    const due = this.nowMs() - 1_000;
    const request = { id: 'job', generation, due, announced: THREE.mask, owed: THREE };
    const [answer] = await this.tube.abort([{ ...request, ...over }]);
    return answer!;
  };

  /** A keyed add as a whole: the generation that is scheduled now. */
  readonly add = async (over: Partial<OpenRequest> & { places?: readonly Place[] } = {}): Promise<number> => {
    const { places = [], ...rest } = over;
    const due = rest.due ?? this.nowMs() - 1_000;
    const generation = await this.opened({ ...rest, due });
    const answer = await this.commit(generation, { id: rest.id ?? 'job', due, places });
    if (answer.kind !== 'committed') throw new Error(`committed, and answered ${JSON.stringify(answer)}`);
    return generation;
  };

  readonly find = async (id = 'job') => {
    const [schedule] = await this.tube.find([id]);
    return schedule;
  };

  readonly revokeAll = async (over: Partial<RevokeRequest> = {}): Promise<RevokeAnswer> => {
    const due = this.nowMs() + MINUTE;
    const request = { id: 'job', born: 0, due, owed: THREE, abort: false, ...over };
    const [answer] = await this.tube.revoke([request]);
    return answer!;
  };

  readonly revoke = async (over: Partial<RevokeRequest> = {}) => (await this.revokeAll(over)).result;

  /** As a reference by key asks. */
  readonly revokeKey = (over: Partial<RevokeRequest> = {}) =>
    this.revoke({ born: undefined, due: 0, owed: NONE, ...over });

  readonly settle = async (mask: number, over: { unknown?: boolean; generation?: number } = {}) => {
    await this.tube.settle([{ id: 'job', generation: 0, mask, unknown: false, ...over }]);
  };

  readonly letter = async (over: { id?: string; born?: number } = {}) => {
    const [letter] = await this.tube.letter([{ id: 'job', born: 0, ...over }]);
    return letter;
  };
}

export function adding(onDuplicate: OnDuplicate = 'replace') {
  return { by: 'add', onDuplicate } as const;
}

/** A run as its runner knows it, from the claim and its answer. */
export function runOf({ id, generation, born }: ClaimRequest, answer: ClaimAnswer | undefined): RunRef {
  if (answer?.kind !== 'run') throw new Error(`claimed, and answered ${JSON.stringify(answer)}`);
  const { fence, attempt, due } = answer;
  return { id, generation, born, due, fence, attempt, lastOk: Math.floor(fence / 1_000) };
}

/**
 * How long a record is kept: for up to a lease longer than it must be, as the run that ended had it kept; less what the calls
 * in between may take on a busy machine.
 */
export function expectAbout(actual: number | undefined, expected: number): void {
  expect(actual).toBeGreaterThan(expected - 5_000);
  expect(actual).toBeLessThanOrEqual(expected + SETTINGS.lease + 5);
}

export function placesOf(text: string): Place[] {
  return [0, 1, 2].map((index) => ({ index, location: `${text}:11300#a1b2c3d4e5f60718:${7 + index}` }));
}
