import { DqError } from '../src/errors.js';
import { stored } from './stored.js';
import {
  TubeLedger,
  type AnswerOf,
  type Ledger,
  type LedgerListener,
  type RequestOf,
  type Verb,
} from '../src/ledger/ledger.js';
import type { ClaimContext, RunRef } from '../src/ledger/requests.js';

/** A ledger as one process has it. A spec can cut it off and restore it. It notes the calls. */
export class SwitchableLedger implements Ledger {
  /** The calls that reached the ledger: `claim job-1`, `complete job-1 done`, `progress job-1 0.5`, `extend job-1`. */
  readonly asked: string[] = [];
  away = false;
  /** How often a tube's runs were abandoned. */
  abandoned = 0;
  private readonly tubes = new Map<string, SwitchableTube>();

  constructor(private readonly ledger: Ledger) {}

  tube(name: string): TubeLedger {
    let tube = this.tubes.get(name);
    if (!tube) this.tubes.set(name, (tube = new SwitchableTube(this, this.ledger.tube(stored(name)))));
    return tube;
  }

  now(): number {
    return this.ledger.now();
  }

  start(): void {
    this.ledger.start();
  }

  listen(listener: LedgerListener): () => void {
    return this.ledger.listen(listener);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  cut(): void {
    this.away = true;
    for (const tube of this.tubes.values())
      tube.tell((listener) => listener.away(new Error('cut off'), tube.now()));
  }

  /** @param sameServer Passed to `back` of each LedgerListener. */
  restore(sameServer = true): void {
    this.away = false;
    for (const tube of this.tubes.values()) tube.tell((listener) => listener.back(sameServer));
  }
}

/** Details noted of a request, in addition to its verb and its job. */
const MORE: { readonly [V in Verb]?: (request: RequestOf<V>) => string } = {
  claim: () => '',
  extend: () => '',
  progress: ({ progress }) => ` ${progress.fraction}`,
  abort: () => '',
  complete: ({ outcome }) => ` ${outcome.kind}`,
  open: ({ opening }) => ` ${opening.by}`,
};

class SwitchableTube extends TubeLedger {
  readonly ahead: number;
  private readonly listeners = new Set<LedgerListener>();

  constructor(
    private readonly owner: SwitchableLedger,
    private readonly tube: TubeLedger,
  ) {
    super();
    this.ahead = tube.ahead;
  }

  get away(): boolean {
    return this.owner.away;
  }

  now(): number {
    return this.tube.now();
  }

  nowAtLeast(): number {
    return this.tube.nowAtLeast();
  }

  readTime(): Promise<void> {
    return this.away ? cutOff() : this.tube.readTime();
  }

  override abandonRuns(): void {
    this.owner.abandoned++;
  }

  ask<V extends Verb>(
    verb: V,
    requests: readonly RequestOf<V>[],
    context?: ClaimContext,
  ): Promise<AnswerOf<V>[]> {
    if (this.away) return cutOff();
    const more = MORE[verb] as ((request: RequestOf<V>) => string) | undefined;
    if (more)
      for (const each of requests) this.owner.asked.push(`${verb} ${(each as RunRef).id}${more(each)}`);
    return this.tube.ask(verb, requests, context);
  }

  listen(listener: LedgerListener): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  tell(what: (listener: LedgerListener) => void): void {
    for (const listener of this.listeners) what(listener);
  }
}

function cutOff(): Promise<never> {
  return Promise.reject(new DqError('DQ_LEDGER_DOWN', 'cut off', { indeterminate: true }));
}
