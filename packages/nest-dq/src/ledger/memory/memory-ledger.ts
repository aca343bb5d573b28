import type { Disk } from '../../disk/disk.js';
import { DqError } from '../../errors.js';
import type { Clock } from 'nest-handlers/time';
import {
  AHEAD,
  TubeLedger,
  type AnswerOf,
  type Ledger,
  type LedgerListener,
  type LedgerSettings,
  type RequestOf,
  type Verb,
} from '../ledger.js';
import type { LedgerView } from '../ledger-view.js';
import type { ClaimContext, Schedule } from '../requests.js';
import { voided, type JobRecord } from '../rules/job-record.js';
import type { Records } from '../rules/records.js';
import { RULES } from '../rules/rules.js';
import { loadRecords } from './durable-records.js';
import { LocalActs } from './local-acts.js';
import { RecordsByTube } from './records-by-tube.js';
import { stored } from './stored.js';

export interface MemoryLedgerOptions {
  readonly settings: LedgerSettings;
  readonly clock: Clock;
  /** Of its tubes, in ms. @default 0 in memory, where an answer takes no time; 20 on a disk */
  readonly ahead?: number;
}

/**
 * The ledger of one process, for the embedded node. On a disk it decides in memory, and answers once that is stored.
 * Its time starts as the machine's, or the disk's, and never jumps.
 */
export class MemoryLedger implements Ledger {
  readonly ahead: number;
  readonly now: () => number;
  readonly records: RecordsByTube;
  readonly acts: LocalActs;
  private readonly clock: Clock;
  private closed = false;

  constructor(
    { settings, clock, ahead }: MemoryLedgerOptions,
    /** To be closed after the ledger. */
    readonly disk?: Disk,
  ) {
    this.clock = clock;
    this.ahead = ahead ?? (disk ? AHEAD : 0);
    this.records = new RecordsByTube(settings, this.ahead, disk);
    const offset = clock.wall() - clock.now();
    this.now = disk ? () => disk.now() : () => clock.now() + offset;
    this.acts = new LocalActs(this.now, disk);
  }

  /** Reads what is on its disk, which is open by now, before anything is asked. `DQ_DISK`: it cannot be read. */
  async load(): Promise<void> {
    if (!this.disk) return;
    await loadRecords(this.disk, (tube) => this.records.of(tube));
    await this.acts.load();
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

  /** `DQ_CLOSED`, `DQ_DISK`. */
  checkOpen(): void {
    if (this.closed) throw new DqError('DQ_CLOSED', 'the ledger is closed');
    this.disk?.checkOpen();
  }
}

/** A lease does not outlive its process, and a question changes nothing: these answers do not wait for the disk. */
const AT_ONCE: ReadonlySet<Verb> = new Set<Verb>([
  'extend',
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
  'paused',
  'usage',
]);

/** One tube's decisions in memory. The contract suite holds it to the same rules as the Lua scripts. */
export class MemoryTubeLedger extends TubeLedger {
  readonly ahead: number;

  constructor(
    private readonly name: string,
    private readonly ledger: MemoryLedger,
  ) {
    super();
    this.ahead = ledger.ahead;
  }

  /** As they are at this moment. */
  get records(): Records {
    return this.ledger.records.of(this.name);
  }

  /** Its disk has failed. */
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
    if (disk && disk.lastChange !== before && !AT_ONCE.has(verb)) await stored(disk);
    return answers;
  }

  /** What `find` answers, at once: also for millions of jobs, of which few have records. */
  look(id: string): Schedule | undefined {
    this.ledger.checkOpen();
    return this.recordOf(id) && this.decide('find', [id])[0];
  }

  /** Whether this generation of a job never comes about: it is older than what counts, revoked, or given up. At once. */
  isVoid(id: string, generation: number): boolean {
    const record = this.recordOf(id);
    return record !== undefined && voided(record, generation) !== undefined;
  }

  /** It may have expired. */
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
