import {
  AHEAD,
  type AbortAnswer,
  type AbortRequest,
  type BuriedRequest,
  type ClaimAnswer,
  type ClaimRequest,
  type CommitAnswer,
  type CommitRequest,
  type ExtendAnswer,
  type ExtendRequest,
  type FinishAnswer,
  type FinishRequest,
  type LedgerListener,
  type Letter,
  type LetterList,
  type LetterPage,
  type LetterRef,
  type OpenAnswer,
  type OpenRequest,
  type RevokeAnswer,
  type RevokeRequest,
  type Schedule,
  type SettledCopies,
  type TubeLedger,
} from './ledger.js';
import type { Disk } from '../disk/disk.js';
import { DqError, toError } from '../errors.js';
import { KeptRecords } from './kept-records.js';
import type { MemoryLedgerOptions } from './memory-ledger.js';
import { buried, discard, letter, letters } from './memory-letters.js';
import { MemoryRecords, type Moment } from './memory-records.js';
import { claim, extend, finish } from './memory-runs.js';
import { abort, commit, find, open, revoke } from './memory-schedules.js';
import { settle } from './owed-copies.js';

type Rule<Request, Answer> = (records: MemoryRecords, request: Request, time: Moment) => Answer;

/** One tube's decisions in memory. The contract suite holds it to the same rules as the Lua scripts. */
export class MemoryTubeLedger implements TubeLedger {
  readonly records: MemoryRecords;
  readonly ahead: number;

  constructor(
    name: string,
    { settings, ahead }: Pick<MemoryLedgerOptions, 'settings' | 'ahead'>,
    readonly now: () => number,
    private readonly checkOpen: () => void,
    private readonly disk?: Disk,
  ) {
    this.ahead = ahead ?? (disk ? AHEAD : 0);
    this.records = new MemoryRecords(settings, this.ahead);
    if (disk) this.records.keeper = new KeptRecords(disk, name, this.records);
  }

  /** Its disk has failed. */
  get away(): boolean {
    return this.disk?.failure !== undefined;
  }

  nowAtLeast(): number {
    return this.now();
  }

  async readTime(): Promise<void> {
    this.checkOpen();
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
    if (this.disk && this.disk.lastChange !== before) await kept(this.disk);
    return answers;
  }

  async finish(requests: readonly FinishRequest[]): Promise<FinishAnswer[]> {
    return this.decide(requests, finish);
  }

  /** A lease outlives no process, so nothing waits for the disk. */
  async extend(requests: readonly ExtendRequest[]): Promise<ExtendAnswer[]> {
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
    this.checkOpen();
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
    if (this.disk && this.disk.lastChange !== before) await kept(this.disk);
    return answers;
  }

  private each<Request, Answer>(requests: readonly Request[], rule: Rule<Request, Answer>): Answer[] {
    this.checkOpen();
    const failure = this.disk?.failure;
    if (failure) throw new DqError('DQ_LEDGER_DOWN', failure.message, { cause: failure });
    const us = Math.floor(this.now() * 1_000);
    const time = { us, now: Math.floor(us / 1_000) };
    this.records.sweep(requests.length, time);
    return requests.map((request) => rule(this.records, request, time));
  }
}

/** Waits until what was decided is on disk. */
async function kept(disk: Disk): Promise<void> {
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
