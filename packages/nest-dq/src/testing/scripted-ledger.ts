import type {
  ClaimAnswer,
  ClaimRequest,
  ExtendAnswer,
  ExtendRequest,
  FinishAnswer,
  FinishRequest,
  LedgerListener,
  RevokeAnswer,
  RevokeRequest,
  SettledCopies,
  TubeLedger,
} from '../ledger/ledger.js';
import type { Clock } from '../time.js';

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
  readonly finishes: Call<FinishRequest, FinishAnswer>[] = [];
  readonly extends: Call<ExtendRequest, ExtendAnswer>[] = [];
  readonly settled: (readonly SettledCopies[])[] = [];
  away = false;

  constructor(private readonly clock: Clock) {}

  now(): number {
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

  finish(requests: readonly FinishRequest[]): Promise<FinishAnswer[]> {
    return this.ask(this.finishes, requests);
  }

  extend(requests: readonly ExtendRequest[]): Promise<ExtendAnswer[]> {
    return this.ask(this.extends, requests);
  }

  revoke(_requests: readonly RevokeRequest[]): Promise<RevokeAnswer[]> {
    return Promise.reject(new Error('not scripted'));
  }

  settle(settled: readonly SettledCopies[]): Promise<void> {
    this.settled.push(settled);
    return Promise.resolve();
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
