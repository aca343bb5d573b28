import type {
  AbortAnswer,
  AbortRequest,
  BuriedRequest,
  ClaimAnswer,
  ClaimRequest,
  CommitAnswer,
  CommitRequest,
  ExtendAnswer,
  ExtendRequest,
  FinishAnswer,
  FinishRequest,
  LedgerListener,
  LedgerSettings,
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
  TubeLedger,
} from './ledger.js';
import { settle } from './job-record.js';
import { buried, discard, letter, letters } from './memory-letters.js';
import { MemoryRecords, type Moment } from './memory-records.js';
import { claim, extend, finish } from './memory-runs.js';
import { abort, commit, find, open, revoke } from './memory-schedules.js';

type Rule<Request, Answer> = (records: MemoryRecords, request: Request, time: Moment) => Answer;

/** One tube's decisions in memory. The contract suite holds it to the same rules as the Lua scripts. */
export class MemoryTubeLedger implements TubeLedger {
  readonly away = false;
  readonly records: MemoryRecords;

  constructor(
    settings: LedgerSettings,
    readonly now: () => number,
    private readonly checkOpen: () => void,
  ) {
    this.records = new MemoryRecords(settings);
  }

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
    const answers = this.each(requests, claim);
    this.each(settled, settleCopies);
    return answers;
  }

  async finish(requests: readonly FinishRequest[]): Promise<FinishAnswer[]> {
    return this.each(requests, finish);
  }

  async extend(requests: readonly ExtendRequest[]): Promise<ExtendAnswer[]> {
    return this.each(requests, extend);
  }

  async open(requests: readonly OpenRequest[]): Promise<OpenAnswer[]> {
    return this.each(requests, open);
  }

  async commit(requests: readonly CommitRequest[]): Promise<CommitAnswer[]> {
    return this.each(requests, commit);
  }

  async abort(requests: readonly AbortRequest[]): Promise<AbortAnswer[]> {
    return this.each(requests, abort);
  }

  async revoke(requests: readonly RevokeRequest[]): Promise<RevokeAnswer[]> {
    return this.each(requests, revoke);
  }

  async find(ids: readonly string[]): Promise<(Schedule | undefined)[]> {
    return this.each(ids, find);
  }

  /** What `find` answers, at once. */
  look(id: string): Schedule | undefined {
    return this.each([id], find)[0];
  }

  async settle(settled: readonly SettledCopies[]): Promise<void> {
    this.each(settled, settleCopies);
  }

  async letters(page: LetterPage): Promise<LetterList> {
    this.checkOpen();
    return letters(this.records, page);
  }

  async letter(refs: readonly LetterRef[]): Promise<(Letter | undefined)[]> {
    return this.each(refs, letter);
  }

  async buried(requests: readonly BuriedRequest[]): Promise<void> {
    this.each(requests, buried);
  }

  async discard(refs: readonly LetterRef[]): Promise<(Letter | undefined)[]> {
    return this.each(refs, discard);
  }

  private each<Request, Answer>(requests: readonly Request[], rule: Rule<Request, Answer>): Answer[] {
    this.checkOpen();
    const us = Math.floor(this.now() * 1_000);
    const time = { us, now: Math.floor(us / 1_000) };
    this.records.sweep(requests.length, time);
    return requests.map((request) => rule(this.records, request, time));
  }
}

function settleCopies(
  records: MemoryRecords,
  { id, generation, mask, unknown }: SettledCopies,
  time: Moment,
): void {
  const record = records.read(id, time);
  if (record && settle(record, generation, mask, unknown)) records.write(id, record, time);
}
