import type { LedgerListener, TubeLedger } from '../src/ledger/ledger.js';
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
} from '../src/ledger/requests.js';
import type { Clock } from '../src/time/clock.js';

/** A call to the ledger that waits for the spec's answer. */
export class Call<Request, Answer> {
  private resolve!: (answers: Answer[]) => void;
  private reject!: (error: Error) => void;
  readonly answers = new Promise<Answer[]>((resolve, reject) => {
    this.resolve = resolve;
    this.reject = reject;
  });

  constructor(readonly requests: readonly Request[]) {}

  /** Resolves once whoever asked has acted. */
  answer(...answers: Answer[]): Promise<void> {
    this.resolve(answers);
    return turn();
  }

  fail(): Promise<void> {
    this.reject(new Error('no answer'));
    return turn();
  }
}

/** A ledger whose answers are a spec's to give; its time is the clock's. */
export class ScriptedLedger implements TubeLedger {
  readonly claims: Call<ClaimRequest, ClaimAnswer>[] = [];
  readonly finishes: Call<CompleteRequest, CompleteAnswer>[] = [];
  readonly extends: Call<RunRef, ExtendAnswer>[] = [];
  readonly opens: Call<OpenRequest, OpenAnswer>[] = [];
  readonly commits: Call<CommitRequest, CommitAnswer>[] = [];
  readonly aborts: Call<AbortRequest, AbortAnswer>[] = [];
  readonly revokes: Call<RevokeRequest, RevokeAnswer>[] = [];
  readonly finds: Call<string, Schedule | undefined>[] = [];
  readonly pages: Call<LetterPage, LetterList>[] = [];
  readonly reads: Call<LetterRef, Letter | undefined>[] = [];
  readonly discards: Call<LetterRef, Letter | undefined>[] = [];
  readonly burials: (readonly BuriedRequest[])[] = [];
  readonly settled: (readonly SettledCopies[])[] = [];
  away = false;
  ahead = 0;

  constructor(private readonly clock: Clock) {}

  now(): number {
    return this.clock.now();
  }

  nowAtLeast(): number {
    return this.clock.now();
  }

  readTime(): Promise<void> {
    return Promise.resolve();
  }

  listen(_listener: LedgerListener): () => void {
    return () => undefined;
  }

  claim(requests: readonly ClaimRequest[], settled: readonly SettledCopies[] = []): Promise<ClaimAnswer[]> {
    this.settled.push(settled);
    return this.ask(this.claims, requests);
  }

  complete(requests: readonly CompleteRequest[]): Promise<CompleteAnswer[]> {
    return this.ask(this.finishes, requests);
  }

  extend(requests: readonly RunRef[]): Promise<ExtendAnswer[]> {
    return this.ask(this.extends, requests);
  }

  abandonRuns(): void {}

  open(requests: readonly OpenRequest[]): Promise<OpenAnswer[]> {
    return this.ask(this.opens, requests);
  }

  commit(requests: readonly CommitRequest[]): Promise<CommitAnswer[]> {
    return this.ask(this.commits, requests);
  }

  abort(requests: readonly AbortRequest[]): Promise<AbortAnswer[]> {
    return this.ask(this.aborts, requests);
  }

  revoke(requests: readonly RevokeRequest[]): Promise<RevokeAnswer[]> {
    return this.ask(this.revokes, requests);
  }

  find(ids: readonly string[]): Promise<(Schedule | undefined)[]> {
    return this.ask(this.finds, ids);
  }

  settle(settled: readonly SettledCopies[]): Promise<void> {
    this.settled.push(settled);
    return Promise.resolve();
  }

  async letters(page: LetterPage): Promise<LetterList> {
    const [list] = await this.ask(this.pages, [page]);
    return list!;
  }

  letter(refs: readonly LetterRef[]): Promise<(Letter | undefined)[]> {
    return this.ask(this.reads, refs);
  }

  buried(requests: readonly BuriedRequest[]): Promise<void> {
    this.burials.push(requests);
    return Promise.resolve();
  }

  discard(refs: readonly LetterRef[]): Promise<(Letter | undefined)[]> {
    return this.ask(this.discards, refs);
  }

  private ask<Request, Answer>(
    calls: Call<Request, Answer>[],
    requests: readonly Request[],
  ): Promise<Answer[]> {
    const call = new Call<Request, Answer>(requests);
    calls.push(call);
    return call.answers;
  }
}

/** All that follows from what was just settled, without any time passing. */
export async function turn(): Promise<void> {
  for (let i = 0; i < 4; i++) await new Promise<void>((resolve) => setImmediate(resolve));
}
