import { DqError } from '../src/errors.js';
import type { Ledger, LedgerListener, RequestOf, TubeLedger, Verb } from '../src/ledger/ledger.js';
import type { ClaimContext, RevokeRequest, SettledCopies } from '../src/ledger/requests.js';
import type { MemoryLedger, MemoryTubeLedger } from '../src/ledger/memory/memory-ledger.js';
import type { VirtualClock } from 'nest-handlers/testing';

/** A spec cannot change these verbs: their calls always arrive. */
const UNCHANGED: ReadonlySet<Verb> = new Set<Verb>(['settle', 'extend', 'buried']);

/** `lost`: it never arrives. `unanswered`: it acts, but its answer is lost. `closed`: the ledger was closed before. */
export type LedgerFault = 'lost' | 'unanswered' | 'closed';

const DOWN = new DqError('DQ_LEDGER_DOWN', 'Redis did not answer', { indeterminate: true });
const CLOSED = new DqError('DQ_CLOSED', 'the ledger is closed');

/** A memory ledger as one process has it. Several processes may share it, and a spec can make calls fail. */
export class ChangedLedger implements Ledger {
  /** The calls in order, also those that never arrived. */
  readonly asked: Verb[] = [];
  readonly revokes: RevokeRequest[] = [];
  readonly settled: SettledCopies[] = [];
  /** The tubes whose ledger time was read. */
  readonly timesRead: string[] = [];
  /** How far ledger time is ahead of the machine's clock for this process, in ms. */
  ahead = 0;
  /** No call arrives. */
  down = false;
  readTime: () => Promise<void> = async () => undefined;
  /** Awaited before each call. */
  gate: (call: Verb) => Promise<void> | void = () => undefined;
  /** Awaited after each call that acted, before its answer is given. */
  acted: (call: Verb) => Promise<void> | void = () => undefined;

  private readonly faults = new Map<Verb, LedgerFault[]>();

  constructor(
    private readonly memory: MemoryLedger,
    private readonly clock: VirtualClock,
  ) {}

  /** The next calls of this name fail in this way, one after the other. */
  fail(call: Verb, ...faults: LedgerFault[]): void {
    this.faults.set(call, faults);
  }

  now(): number {
    return this.clock.wall() + this.ahead;
  }

  tube(name: string): TubeLedger {
    const tube = this.memory.tube(name);
    return Object.assign(Object.create(tube) as MemoryTubeLedger, {
      now: () => this.now(),
      readTime: () => {
        this.timesRead.push(name);
        return this.readTime();
      },
      ask: <V extends Verb>(verb: V, requests: readonly RequestOf<V>[], context?: ClaimContext) =>
        this.reach(verb, requests, () => tube.ask(verb, requests, context)),
    });
  }

  start(): void {
    this.memory.start();
  }

  listen(_listener: LedgerListener): () => void {
    return () => undefined;
  }

  close(): Promise<void> {
    return this.memory.close();
  }

  private async reach<T>(verb: Verb, requests: readonly unknown[], ask: () => Promise<T>): Promise<T> {
    if (verb === 'settle') this.settled.push(...(requests as readonly SettledCopies[]));
    if (UNCHANGED.has(verb)) return ask();
    this.asked.push(verb);
    if (verb === 'revoke') this.revokes.push(...(requests as readonly RevokeRequest[]));
    await this.gate(verb);
    const fault = this.faults.get(verb)?.shift();
    if (fault === 'closed') throw CLOSED;
    if (this.down || fault === 'lost') throw DOWN;
    const answer = await ask();
    await this.acted(verb);
    if (fault === 'unanswered') throw DOWN;
    return answer;
  }
}
