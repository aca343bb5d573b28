import type { LedgerListener, TubeLedger } from '../ledger.js';
import type {
  AbortAnswer,
  AbortRequest,
  BuriedRequest,
  ClaimAnswer,
  ClaimRequest,
  CommitAnswer,
  CommitRequest,
  ExtendAnswer,
  RunRef,
  CompleteAnswer,
  CompleteRequest,
  Letter,
  LetterList,
  LetterPage,
  LetterRef,
  OpenAnswer,
  OpenRequest,
  RevokeAnswer,
  RevokeRequest,
  Schedule,
  SettledCopies,
} from '../requests.js';
import type { Disk } from '../../disk/disk.js';
import { DqError, toError } from '../../errors.js';
import { buried, discard, letter, letters } from '../rules/letters.js';
import type { MemoryRecords, Moment } from './memory-records.js';
import { claim, complete, extend } from '../rules/runs.js';
import { abort, commit, find, open, revoke } from '../rules/schedules.js';
import { settle } from '../rules/owed-copies.js';
import type { RecordsByTube } from './records-by-tube.js';

type Rule<Request, Answer> = (records: MemoryRecords, request: Request, time: Moment) => Answer;

/** What all tubes of a memory ledger have in common. */
export interface MemoryTubes {
  readonly ahead: number;
  readonly now: () => number;
  readonly records: RecordsByTube;
  readonly disk?: Disk;
  /** `DQ_CLOSED`, `DQ_DISK`. */
  checkOpen(): void;
}

/** One tube's decisions in memory. The contract suite holds it to the same rules as the Lua scripts. */
export class MemoryTubeLedger implements TubeLedger {
  readonly ahead: number;
  readonly now: () => number;
  private readonly disk: Disk | undefined;

  constructor(
    private readonly name: string,
    private readonly all: MemoryTubes,
  ) {
    this.ahead = all.ahead;
    this.now = all.now;
    this.disk = all.disk;
  }

  /** As they are at this moment. */
  get records(): MemoryRecords {
    return this.all.records.of(this.name);
  }

  /** Its disk has failed. */
  get away(): boolean {
    return this.disk?.failure !== undefined;
  }

  nowAtLeast(): number {
    return this.now();
  }

  async readTime(): Promise<void> {
    this.all.checkOpen();
  }

  listen(listener: LedgerListener): () => void {
    return this.disk?.onFailure((failure) => listener.away(failure, this.now())) ?? (() => undefined);
  }

  async claim(
    requests: readonly ClaimRequest[],
    settled: readonly SettledCopies[] = [],
    sparedFrom?: number,
  ): Promise<ClaimAnswer[]> {
    const before = this.disk?.lastChange;
    const answers = this.each(requests, (records, request, time) =>
      claim(records, request, time, sparedFrom),
    );
    this.each(settled, settleCopies);
    if (this.disk && this.disk.lastChange !== before) await stored(this.disk);
    return answers;
  }

  async complete(requests: readonly CompleteRequest[]): Promise<CompleteAnswer[]> {
    return this.decide(requests, complete);
  }

  /** A lease outlives no process, so nothing waits for the disk. */
  async extend(requests: readonly RunRef[]): Promise<ExtendAnswer[]> {
    return this.each(requests, extend);
  }

  /** Nobody else renews them. */
  abandonRuns(): void {}

  async open(requests: readonly OpenRequest[]): Promise<OpenAnswer[]> {
    return this.decide(requests, open);
  }

  async commit(requests: readonly CommitRequest[]): Promise<CommitAnswer[]> {
    return this.decide(requests, commit);
  }

  async abort(requests: readonly AbortRequest[]): Promise<AbortAnswer[]> {
    return this.decide(requests, abort);
  }

  async revoke(requests: readonly RevokeRequest[]): Promise<RevokeAnswer[]> {
    return this.decide(requests, revoke);
  }

  async find(ids: readonly string[]): Promise<(Schedule | undefined)[]> {
    return this.each(ids, find);
  }

  /** What `find` answers, at once. */
  look(id: string): Schedule | undefined {
    return this.each([id], find)[0];
  }

  async settle(settled: readonly SettledCopies[]): Promise<void> {
    await this.decide(settled, settleCopies);
  }

  async letters(page: LetterPage): Promise<LetterList> {
    this.all.checkOpen();
    return letters(this.records, page);
  }

  async letter(refs: readonly LetterRef[]): Promise<(Letter | undefined)[]> {
    return this.each(refs, letter);
  }

  async buried(requests: readonly BuriedRequest[]): Promise<void> {
    await this.decide(requests, buried);
  }

  async discard(refs: readonly LetterRef[]): Promise<(Letter | undefined)[]> {
    return this.decide(refs, discard);
  }

  private async decide<Request, Answer>(
    requests: readonly Request[],
    rule: Rule<Request, Answer>,
  ): Promise<Answer[]> {
    const before = this.disk?.lastChange;
    const answers = this.each(requests, rule);
    if (this.disk && this.disk.lastChange !== before) await stored(this.disk);
    return answers;
  }

  private each<Request, Answer>(requests: readonly Request[], rule: Rule<Request, Answer>): Answer[] {
    this.all.checkOpen();
    const failure = this.disk?.failure;
    if (failure) throw new DqError('DQ_LEDGER_DOWN', failure.message, { cause: failure });
    const us = Math.floor(this.now() * 1_000);
    const time = { us, now: Math.floor(us / 1_000) };
    this.all.records.sweep(requests.length, time);
    const { records } = this;
    return requests.map((request) => rule(records, request, time));
  }
}

/** Waits until what was decided is on disk. */
async function stored(disk: Disk): Promise<void> {
  try {
    await disk.saved();
  } catch (failure) {
    const { message } = toError(failure);
    throw new DqError('DQ_LEDGER_DOWN', message, { cause: failure, indeterminate: true });
  }
}

function settleCopies(records: MemoryRecords, settled: SettledCopies, time: Moment): void {
  const record = records.read(settled.id, time);
  if (record && settle(record, settled)) records.write(settled.id, record, time);
}
