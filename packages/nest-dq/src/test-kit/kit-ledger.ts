import type { Ledger, LedgerListener, TubeLedger } from '../ledger/ledger.js';
import type { MemoryLedger } from '../ledger/memory/memory-ledger.js';
import type { RunTally } from './run-tally.js';

/**
 * One application's access to a ledger that may be shared. Counts its runs, and holds its claims until the kit lets them pass:
 * without an answer no handler starts.
 */
export class KitLedger implements Ledger {
  /** Whether the application was compiled but neither initialized nor closed. */
  isIdle = true;
  private isOpen = false;
  private waiting: (() => void)[] = [];

  constructor(
    private readonly ledger: MemoryLedger,
    private readonly tally: RunTally,
  ) {}

  letClaimsPass(): void {
    this.isOpen = true;
    for (const pass of this.waiting.splice(0)) pass();
  }

  holdClaims(): void {
    this.isOpen = false;
  }

  now(): number {
    return this.ledger.now();
  }

  tube(name: string): TubeLedger {
    const tube = this.ledger.tube(name);
    const claim: TubeLedger['claim'] = async (requests, context) => {
      if (!this.isOpen) await new Promise<void>((pass) => this.waiting.push(pass));
      const answers = await tube.claim(requests, context);
      answers.forEach((answer, i) => this.tally.claimed(name, requests[i]!.id, answer));
      return answers;
    };
    const complete: TubeLedger['complete'] = async (requests) => {
      const answers = await tube.complete(requests);
      answers.forEach((answer, i) => this.tally.finished(name, requests[i]!, answer));
      return answers;
    };
    return Object.assign(Object.create(tube) as TubeLedger, { claim, complete });
  }

  start(): void {
    this.ledger.start();
  }

  onDecision(listener: () => void): () => void {
    return this.ledger.onDecision(listener);
  }

  listen(_listener: LedgerListener): () => void {
    return this.ledger.listen();
  }

  /** Keeps the ledger open for the others. */
  close(): Promise<void> {
    return Promise.resolve();
  }
}
