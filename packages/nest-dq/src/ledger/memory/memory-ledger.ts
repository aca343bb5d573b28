import type { Disk, DiskPart } from '../../disk/disk.js';
import { DqError } from '../../errors.js';
import type { Clock } from 'nest-handlers/time';
import {
  AHEAD_MS,
  type AnswerOf,
  type Ledger,
  type LedgerListener,
  type LedgerSettings,
  type RequestOf,
  TubeLedger,
  type Verb,
} from '../ledger.js';
import type { LedgerView } from '../ledger-view.js';
import type { ClaimContext, Schedule } from '../requests.js';
import { type JobRecord, voided } from '../records/job-record.js';
import { type Moment, Records } from '../records/records.js';
import { RULES } from './rules.js';
import { collectRecords, loadRecords, stored } from './durable-records.js';
import type { DiskBatch } from '../../disk/entries.js';

interface MemoryLedgerOptions {
  readonly settings: LedgerSettings;
  readonly clock: Clock;
  /** The `ahead` of its tubes, in ms. @default 0 in memory, where an answer takes no time; 20 on a disk */
  readonly ahead?: number;
}

/**
 * The ledger of one process, for the embedded node. With a disk, it decides in memory and answers once the change is stored. Its
 * time starts at the machine's, or the disk's, and never jumps.
 */
export class MemoryLedger implements Ledger {
  readonly ahead: number;
  readonly now: () => number;
  readonly records: RecordsByTube;
  private readonly clock: Clock;
  private readonly deciding = new Set<() => void>();
  private closed = false;

  constructor(
    { settings, clock, ahead }: MemoryLedgerOptions,
    /** Close it after the ledger. */
    readonly disk?: Disk,
  ) {
    this.clock = clock;
    this.ahead = ahead ?? (disk ? AHEAD_MS : 0);
    this.records = new RecordsByTube(settings, this.ahead, disk);
    const offset = clock.wall() - clock.now();
    this.now = disk ? () => disk.now() : () => clock.now() + offset;
  }

  /** Loads its disk, which must be open, before the first call. Rejects with `DQ_DISK` if it can't be read. */
  async load(): Promise<void> {
    if (!this.disk) return;
    await loadRecords(this.disk, (tube) => this.records.of(tube));
  }

  tube(name: string): MemoryTubeLedger {
    return new MemoryTubeLedger(name, this);
  }

  start(): void {
    this.checkOpen();
  }

  /** It is never away, unless its disk fails: then for good. */
  listen(listener?: LedgerListener): () => void {
    return this.disk?.onFailure((failure) => listener?.away(failure, this.now())) ?? (() => undefined);
  }

  onDecision(listener: () => void): () => void {
    this.deciding.add(listener);
    return () => void this.deciding.delete(listener);
  }

  /** Reports a decision. */
  decided(): void {
    for (const listener of this.deciding) listener();
  }

  async view(): Promise<LedgerView> {
    const failure = this.disk?.failure;
    return {
      kind: this.disk ? 'disk' : 'memory',
      up: !failure && !this.closed,
      ...(failure ? { reason: failure.message } : this.closed && { reason: 'the ledger is closed' }),
      clockAhead: this.clock.wall() - this.now(),
      servers: [],
      problems: [],
    };
  }

  close(): Promise<void> {
    this.closed = true;
    return Promise.resolve();
  }

  /** Throws `DQ_CLOSED`, `DQ_DISK`. */
  checkOpen(): void {
    if (this.closed) throw new DqError('DQ_CLOSED', 'the ledger is closed');
    this.disk?.checkOpen();
  }
}

/** A lease and a run's progress don't outlive their process, and a read changes nothing: these answers don't wait for the disk. */
const AT_ONCE: ReadonlySet<Verb> = new Set<Verb>([
  'extend',
  'progress',
  'find',
  'trace',
  'index',
  'waiting',
  'locate',
  'tally',
  'letters',
  'letter',
  'surplus',
  'deaths',
  'finished',
  'ended',
  'paused',
  'usage',
]);

/** The decisions of one tube in memory. The contract suite holds it to the same rules as the Lua scripts. */
export class MemoryTubeLedger extends TubeLedger {
  readonly ahead: number;

  constructor(
    private readonly name: string,
    private readonly ledger: MemoryLedger,
  ) {
    super();
    this.ahead = ledger.ahead;
  }

  /** The records as of now; don't keep them. */
  get records(): Records {
    return this.ledger.records.of(this.name);
  }

  /** Whether its disk has failed. */
  get away(): boolean {
    return this.ledger.disk?.failure !== undefined;
  }

  now(): number {
    return this.ledger.now();
  }

  nowAtLeast(): number {
    return this.ledger.now();
  }

  async readTime(): Promise<void> {
    this.ledger.checkOpen();
  }

  listen(listener: LedgerListener): () => void {
    return this.ledger.listen(listener);
  }

  /** Decides before it returns. */
  async ask<V extends Verb>(
    verb: V,
    requests: readonly RequestOf<V>[],
    context?: ClaimContext,
  ): Promise<AnswerOf<V>[]> {
    const { disk } = this.ledger;
    const before = disk?.lastChange;
    const answers = this.decide(verb, requests, context);
    if (context?.settled?.length) this.decide('settle', context.settled);
    if (AT_ONCE.has(verb)) return answers;
    if (disk && disk.lastChange !== before) await stored(disk);
    this.ledger.decided();
    return answers;
  }

  /** Returns what `find` answers, synchronously: usable for millions of jobs, few of which have records. */
  look(id: string): Schedule | undefined {
    this.ledger.checkOpen();
    return this.recordOf(id) && this.decide('find', [id])[0];
  }

  /** Whether this generation of a job can never become the job: it is older than the committed one, revoked, or given up. Synchronous. */
  isVoid(id: string, generation: number): boolean {
    const record = this.recordOf(id);
    return record !== undefined && voided(record, generation) !== undefined;
  }

  /** The record may have expired. */
  private recordOf(id: string): JobRecord | undefined {
    return this.ledger.records.find(this.name)?.byId.get(id);
  }

  private decide<V extends Verb>(
    verb: V,
    requests: readonly RequestOf<V>[],
    context?: ClaimContext,
  ): AnswerOf<V>[] {
    const { ledger } = this;
    ledger.checkOpen();
    const failure = ledger.disk?.failure;
    if (failure) throw new DqError('DQ_LEDGER_DOWN', failure.message, { cause: failure });
    const us = Math.floor(ledger.now() * 1_000);
    const time = { us, now: Math.floor(us / 1_000) };
    ledger.records.sweep(requests.length, time);
    const { records } = this;
    const rule = RULES[verb];
    const claiming = context && { ...context };
    return requests.map((request) => rule(records, request, time, claiming));
  }
}

/** Records checked per requested one: more than one, so that expired ones never pile up. */
const SWEPT = 2;

/** The memory ledger's records of all tubes. Nothing is kept for a tube without any. */
class RecordsByTube implements DiskPart {
  private readonly byName = new Map<string, Records>();
  private sweeping = this.byName.entries();
  private swept: [name: string, records: Records] | undefined;

  constructor(
    private readonly settings: LedgerSettings,
    /** How long before its due time a run may be granted, in ms. */
    private readonly ahead: number,
    private readonly disk?: Disk,
  ) {
    disk?.add(this);
  }

  /** Don't keep the result beyond the turn of the event loop: empty records are dropped and created again. */
  of(name: string): Records {
    let records = this.byName.get(name);
    if (!records) {
      const { disk } = this;
      records = new Records(this.settings, this.ahead, disk && (() => disk.changed()));
      this.byName.set(name, records);
    }
    return records;
  }

  /** Returns undefined if the tube has none. */
  find(name: string): Records | undefined {
    return this.byName.get(name);
  }

  /** Ledger time at which the next pause expires; Infinity if none does. */
  nextPauseEnd(now: number): number {
    const ends = Array.from(this.byName.values(), ({ pauses }) => pauses.at(-1)?.to ?? Infinity);
    return Math.min(...ends.filter((end) => end > now));
  }

  /**
   * Removes some expired records, in proportion to the `asked` records of a call, over all tubes in turn, since some may never be
   * asked for again.
   */
  sweep(asked: number, time: Moment): void {
    for (let left = asked * SWEPT; left > 0; left--) {
      if (this.swept?.[1].sweepNext(time)) continue;
      this.forgetEmpty();
      const next = this.sweeping.next();
      if (next.done) this.sweeping = this.byName.entries();
      this.swept = next.value;
    }
  }

  collect(batch: DiskBatch): void {
    for (const [name, records] of this.byName) collectRecords(batch, name, records);
  }

  /** Forgets the last swept tube if it is empty. */
  private forgetEmpty(): void {
    if (!this.swept) return;
    const [name, { byId, letters, index, finished, pauses, limitUse, unsaved }] = this.swept;
    const { turn, running } = limitUse;
    const jobs = byId.size + letters.size + index.size + finished.byId.size;
    const stored = jobs + pauses.length + turn + running.size;
    const size = stored + unsaved.records.size + unsaved.letters.size + unsaved.finished.size;
    if (size === 0 && !unsaved.pauses && !unsaved.turn) this.byName.delete(name);
  }
}
