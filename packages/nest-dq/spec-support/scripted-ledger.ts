import {
  TubeLedger,
  type AnswerOf,
  type LedgerListener,
  type RequestOf,
  type Verb,
} from '../src/ledger/ledger.js';
import type { ClaimContext, SettledCopies } from '../src/ledger/requests.js';
import type { Clock } from 'nest-handlers/time';

/** A call to the ledger that waits for the spec's answer. */
export class Call<Request, Answer> {
  private resolve!: (answers: Answer[]) => void;
  private reject!: (error: Error) => void;
  readonly answers = new Promise<Answer[]>((resolve, reject) => {
    this.resolve = resolve;
    this.reject = reject;
  });

  constructor(readonly requests: readonly Request[]) {}

  /** Resolves when the caller has acted on the answer. */
  answer(...answers: Answer[]): Promise<void> {
    this.resolve(answers);
    return turn();
  }

  fail(): Promise<void> {
    this.reject(new Error('no answer'));
    return turn();
  }
}

type Calls<V extends Verb> = Call<RequestOf<V>, AnswerOf<V>>[];

/** A ledger whose calls a spec answers. Its time is that of the clock. */
export class ScriptedLedger extends TubeLedger {
  private readonly calls = new Map<Verb, unknown>();
  readonly claims = this.callsOf('claim');
  readonly completions = this.callsOf('complete');
  readonly extends = this.callsOf('extend');
  readonly reported = this.callsOf('progress');
  readonly opens = this.callsOf('open');
  readonly finds = this.callsOf('find');
  readonly reads = this.callsOf('letter');
  readonly burials = this.callsOf('buried');
  readonly settled: (readonly SettledCopies[])[] = [];
  away = false;
  ahead = 0;

  constructor(private readonly clock: Clock) {
    super();
  }

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

  ask<V extends Verb>(
    verb: V,
    requests: readonly RequestOf<V>[],
    context?: ClaimContext,
  ): Promise<AnswerOf<V>[]> {
    if (context?.settled) this.settled.push(context.settled);
    if (verb === 'settle') this.settled.push(requests as readonly SettledCopies[]);
    if (!this.calls.has(verb)) return Promise.resolve([]);
    const call = new Call<RequestOf<V>, AnswerOf<V>>(requests);
    this.callsOf(verb).push(call);
    return call.answers;
  }

  private callsOf<V extends Verb>(verb: V): Calls<V> {
    if (!this.calls.has(verb)) this.calls.set(verb, []);
    return this.calls.get(verb) as Calls<V>;
  }
}

/** Waits until everything has happened that takes no time. */
export async function turn(): Promise<void> {
  for (let i = 0; i < 4; i++) await new Promise<void>((resolve) => setImmediate(resolve));
}
