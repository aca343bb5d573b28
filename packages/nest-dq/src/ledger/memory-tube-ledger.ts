import { endRun, expiry, newRecord, owe, settle, type JobRecord } from './job-record.js';
import type {
  ClaimAnswer,
  ClaimRequest,
  Death,
  ExtendAnswer,
  ExtendRequest,
  FinishAnswer,
  FinishRequest,
  LedgerListener,
  LedgerSettings,
  RevokeAnswer,
  RevokeRequest,
  RunRef,
  SettledCopies,
  TubeLedger,
} from './ledger.js';

/** Milliseconds. A generation that is younger and not committed may still be refused. */
const YOUNG = 10_000;
/** Records looked at for each one asked for: more than one, so that the expired never pile up. */
const SWEPT = 2;

/** One tube's decisions in memory: the same rules as the Lua scripts, step by step, as the contract suite holds them to. */
export class MemoryTubeLedger implements TubeLedger {
  readonly away = false;
  /** By job id, those expired but not yet swept included. */
  readonly records = new Map<string, JobRecord>();
  private sweep = this.records.entries();

  constructor(
    private readonly settings: LedgerSettings,
    readonly now: () => number,
    private readonly checkOpen: () => void,
  ) {}

  async readTime(): Promise<void> {
    this.checkOpen();
  }

  listen(_listener: LedgerListener): () => void {
    return () => undefined;
  }

  async claim(
    requests: readonly ClaimRequest[],
    settled: readonly SettledCopies[] = [],
  ): Promise<ClaimAnswer[]> {
    const time = this.begin(requests.length + settled.length);
    const answers = requests.map((request) => this.claimOne(request, time));
    for (const copies of settled) this.settleOne(copies, time);
    return answers;
  }

  async finish(requests: readonly FinishRequest[]): Promise<FinishAnswer[]> {
    const time = this.begin(requests.length);
    return requests.map((request) => this.finishOne(request, time));
  }

  async extend(requests: readonly ExtendRequest[]): Promise<ExtendAnswer[]> {
    const time = this.begin(requests.length);
    return requests.map((request) => this.extendOne(request, time));
  }

  async revoke(requests: readonly RevokeRequest[]): Promise<RevokeAnswer[]> {
    const time = this.begin(requests.length);
    return requests.map((request) => this.revokeOne(request, time));
  }

  async settle(settled: readonly SettledCopies[]): Promise<void> {
    const time = this.begin(settled.length);
    for (const copies of settled) this.settleOne(copies, time);
  }

  private claimOne(request: ClaimRequest, time: Moment): ClaimAnswer {
    const { id, generation, token } = request;
    const { now } = time;
    const record = this.read(id, now);
    const committed = record?.committed ?? -1;
    const current = generation === committed;
    const running = record?.state === 'running';
    if (record) {
      if (generation < committed || record.aborted.includes(generation)) return { kind: 'gone' };
      // A run goes on under a revoke that came after it began.
      if (generation <= record.floor && !(current && running)) return { kind: 'gone' };
      if (current) {
        if (record.state === 'done' || record.state === 'revoked') return { kind: 'gone' };
        if (record.state === 'dead') return { kind: 'dead', fresh: false };
      }
    }
    // The number of a generation is its opening time.
    const age = now - generation;
    if (generation > committed && age < YOUNG) {
      return { kind: 'wait', ms: Math.min(500, Math.max(20, Math.abs(age))) };
    }
    if (record) {
      const left = Math.max(record.leaseEnd, record.holdEnd) - now;
      if (running && current && record.token === token && (left > 0 || !record.noFurtherStart)) {
        record.leaseEnd = now + this.settings.lease;
        this.write(id, record, now);
        return { kind: 'run', fence: record.fence, attempt: record.attempt, due: record.due };
      }
      if (left > 0) {
        const ranFor = Math.max(0, Math.floor((time.us - record.fence) / 1_000));
        return { kind: 'busy', ms: left, ranFor };
      }
      if (running && current && record.noFurtherStart) {
        endRun(record, 'revoked');
        this.write(id, record, now);
        return { kind: 'gone' };
      }
    }
    const due = record && current ? record.due : request.due;
    const attempt = record && current ? record.attempt : 0;
    if (due > now) return { kind: 'wait', ms: due - now };
    if (!record && due + this.settings.staleAfter < now) {
      this.bury(id, newRecord(generation, due), 'stale', time);
      return { kind: 'stale' };
    }
    if (attempt >= request.attempts) {
      const last = record ?? newRecord(generation, due);
      this.bury(id, { ...last, committed: generation, due, attempt }, 'attempts', time);
      return { kind: 'dead', fresh: true };
    }
    const run = record ?? newRecord(generation, due);
    if (!current) {
      // A newer generation is committed by its first run: a commit that was lost loses no job.
      run.born = run.committed = generation;
      run.unknownEnd = false;
    }
    endRun(run, 'running');
    run.due = due;
    run.attempt = attempt + 1;
    run.fence = newFence(run, time);
    run.leaseEnd = now + this.settings.lease;
    run.token = token;
    this.write(id, run, now);
    return { kind: 'run', fence: run.fence, attempt: run.attempt, due };
  }

  private finishOne(request: FinishRequest, time: Moment): FinishAnswer {
    const { id, generation, owed, outcome } = request;
    const { now } = time;
    const record = this.read(id, now) ?? this.runMadeAnew(request, now);
    if (!record || record.fence !== request.fence) return 'refused';
    if (generation < record.committed) {
      // It was replaced while it ran, and only held its successor back.
      record.holdEnd = 0;
      this.write(id, record, now);
      return 'ok';
    }
    if (record.state !== 'running') return record.state === 'revoked' ? 'revoked' : 'ok';
    const ends = outcome.kind === 'done' || outcome.kind === 'dead';
    const next = ends ? outcome.kind : record.noFurtherStart ? 'revoked' : 'waiting';
    let surfaces = request.due;
    if (next === 'waiting') {
      surfaces = record.due = outcome.kind === 'retry' ? Math.ceil(outcome.due) : now;
      if (outcome.kind === 'back') record.attempt = Math.max(0, record.attempt - 1);
    }
    if (outcome.kind === 'dead') record.death = { ...outcome.death, died: now };
    endRun(record, next);
    owe(record, generation, surfaces, owed);
    this.write(id, record, now);
    return next === 'revoked' ? 'revoked' : 'ok';
  }

  private extendOne(request: ExtendRequest, { now }: Moment): ExtendAnswer {
    const record = this.read(request.id, now) ?? this.runMadeAnew(request, now);
    if (!record || record.fence !== request.fence) return 'refused';
    if (request.generation < record.committed && record.holdEnd > 0) {
      record.holdEnd = now + this.settings.lease;
    } else {
      if (record.state !== 'running') return 'refused';
      record.leaseEnd = now + this.settings.lease;
    }
    this.write(request.id, record, now);
    return 'ok';
  }

  private revokeOne({ id, born, due, owed }: RevokeRequest, { now }: Moment): RevokeAnswer {
    const known = this.read(id, now);
    const record = known ?? newRecord(born, due);
    if (record.born !== born) return { result: 'unknown' };
    if (record.state === 'done' || record.state === 'dead') return { result: record.state };
    // An end is remembered for `doneTtl` at least, so without a record this job was never claimed, unless it was due
    // before that: then it may be done and forgotten, or wait in a backlog. No start from now on, in any case.
    record.unknownEnd ||= !known && due + this.settings.doneTtl <= now;
    const running = record.state === 'running' && record.leaseEnd > now;
    if (running) record.noFurtherStart = true;
    else endRun(record, 'revoked');
    // Every add that was opened before now is covered; a run that goes on is not asked for the floor.
    record.floor = Math.max(record.committed, record.opened, record.floor, now);
    owe(record, born, due, owed);
    this.write(id, record, now);
    if (running || record.holdEnd > now) return { result: 'running' };
    return { result: record.unknownEnd ? 'unknown' : 'revoked' };
  }

  private settleOne({ id, generation, mask, unknown }: SettledCopies, { now }: Moment): void {
    const record = this.read(id, now);
    if (record && settle(record, generation, mask, unknown)) this.write(id, record, now);
  }

  /** The record of a run that was lost, made from what its runner knows: only while no later end can be forgotten. */
  private runMadeAnew(run: RunRef, now: number): JobRecord | undefined {
    if (now - run.lastOk >= this.settings.doneTtl) return undefined;
    const { generation, due, attempt, fence } = run;
    return { ...newRecord(generation, due), state: 'running', attempt, fence };
  }

  /** What a claim finds dead. Its new fence refuses whatever the last runner may still send. */
  private bury(id: string, record: JobRecord, why: Death['why'], time: Moment): void {
    endRun(record, 'dead');
    record.fence = newFence(record, time);
    record.death = { why, died: time.now };
    this.write(id, record, time.now);
  }

  private read(id: string, now: number): JobRecord | undefined {
    const record = this.records.get(id);
    return record && record.expiresAt > now ? record : undefined;
  }

  private write(id: string, record: JobRecord, now: number): void {
    record.expiresAt = expiry(record, now, this.settings);
    this.records.set(id, record);
  }

  private begin(asked: number): Moment {
    this.checkOpen();
    const us = Math.floor(this.now() * 1_000);
    const now = Math.floor(us / 1_000);
    for (let left = asked * SWEPT; left > 0; left--) {
      const next = this.sweep.next();
      if (next.done) {
        this.sweep = this.records.entries();
        break;
      }
      const [id, record] = next.value;
      if (record.expiresAt <= now) this.records.delete(id);
    }
    return { now, us };
  }
}

/** Ledger time of one call, in whole milliseconds and microseconds. */
interface Moment {
  readonly now: number;
  readonly us: number;
}

function newFence(record: JobRecord, time: Moment): number {
  return Math.max(record.fence + 1, time.us);
}
