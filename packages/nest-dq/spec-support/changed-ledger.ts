import { DqError } from '../src/errors.js';
import type { Ledger, LedgerListener, TubeLedger } from '../src/ledger/ledger.js';
import type { RevokeRequest, SettledCopies } from '../src/ledger/requests.js';
import type { MemoryLedger } from '../src/ledger/memory/memory-ledger.js';
import type { VirtualClock } from '../src/test-kit/virtual-clock.js';

const CALLS = [
  'open',
  'commit',
  'abort',
  'revoke',
  'find',
  'letters',
  'letter',
  'discard',
  'claim',
  'complete',
] as const;

export type LedgerCall = (typeof CALLS)[number];

/** `lost`: it never arrives. `unanswered`: it acts, but its answer is lost. `closed`: the ledger was closed before. */
export type LedgerFault = 'lost' | 'unanswered' | 'closed';

const DOWN = new DqError('DQ_LEDGER_DOWN', 'Redis did not answer', { indeterminate: true });
const CLOSED = new DqError('DQ_CLOSED', 'the ledger is closed');

/** One process's way to a memory ledger that several may share, with what a spec changes of it. */
export class ChangedLedger implements Ledger {
  /** The calls, in their order, those that never arrived too. */
  readonly asked: LedgerCall[] = [];
  readonly revokes: RevokeRequest[] = [];
  readonly settled: SettledCopies[] = [];
  /** The tubes whose time was asked for. */
  readonly timesRead: string[] = [];
  /** This process takes ledger time to be so much ahead of the machine's. */
  ahead = 0;
  /** No call arrives. */
  down = false;
  readTime: () => Promise<void> = async () => undefined;
  /** Awaited before each call. */
  gate: (call: LedgerCall) => Promise<void> | void = () => undefined;
  /** Awaited after each call that acted, before its answer is given. */
  acted: (call: LedgerCall) => Promise<void> | void = () => undefined;

  private readonly faults = new Map<LedgerCall, LedgerFault[]>();

  constructor(
    private readonly memory: MemoryLedger,
    private readonly clock: VirtualClock,
  ) {}

  /** What becomes of the next calls of this name. */
  fail(call: LedgerCall, ...faults: LedgerFault[]): void {
    this.faults.set(call, faults);
  }

  tube(name: string): TubeLedger {
    const tube = this.memory.tube(name);
    const calls = CALLS.map((call) => {
      const ask = tube[call].bind(tube) as (...args: readonly unknown[]) => Promise<unknown>;
      return [call, (...args: readonly unknown[]) => this.reach(call, args, () => ask(...args))] as const;
    });
    return Object.assign(Object.create(tube) as TubeLedger, Object.fromEntries(calls), {
      now: () => this.clock.wall() + this.ahead,
      readTime: () => {
        this.timesRead.push(name);
        return this.readTime();
      },
      settle: (settled: readonly SettledCopies[]) => {
        this.settled.push(...settled);
        return tube.settle(settled);
      },
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

  private async reach(
    call: LedgerCall,
    args: readonly unknown[],
    ask: () => Promise<unknown>,
  ): Promise<unknown> {
    this.asked.push(call);
    if (call === 'revoke') this.revokes.push(...(args[0] as readonly RevokeRequest[]));
    await this.gate(call);
    const fault = this.faults.get(call)?.shift();
    if (fault === 'closed') throw CLOSED;
    if (this.down || fault === 'lost') throw DOWN;
    const answer = await ask();
    await this.acted(call);
    if (fault === 'unanswered') throw DOWN;
    return answer;
  }
}
