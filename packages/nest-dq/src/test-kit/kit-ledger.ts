import type { Ledger, LedgerListener, TubeLedger } from '../ledger/ledger.js';
import type { MemoryLedger } from '../ledger/memory/memory-ledger.js';
import type { RunTally } from './run-tally.js';

/** Lets claims pass, or keeps them waiting: without an answer no handler begins. */
export class Gate {
  private isOpen = false;
  private waiting: (() => void)[] = [];

  open(): void {
    this.isOpen = true;
    for (const pass of this.waiting.splice(0)) pass();
  }

  close(): void {
    this.isOpen = false;
  }

  async pass(): Promise<void> {
    if (!this.isOpen) await new Promise<void>((resolve) => this.waiting.push(resolve));
  }
}

/** One application's way to a ledger that it may share with others: its claims pass a gate, and its runs are counted. */
export class KitLedger implements Ledger {
  private readonly tubes = new Map<string, TubeLedger>();

  constructor(
    private readonly ledger: MemoryLedger,
    private readonly gate: Gate,
    private readonly tally: RunTally,
  ) {}

  tube(name: string): TubeLedger {
    let tube = this.tubes.get(name);
    if (!tube) this.tubes.set(name, (tube = this.watched(name)));
    return tube;
  }

  start(): void {
    this.ledger.start();
  }

  listen(_listener: LedgerListener): () => void {
    return this.ledger.listen();
  }

  /** The others' ledger stays open. */
  close(): Promise<void> {
    return Promise.resolve();
  }

  private watched(name: string): TubeLedger {
    const tube = this.ledger.tube(name);
    const claim: TubeLedger['claim'] = async (requests, settled, sparedFrom) => {
      await this.gate.pass();
      const answers = await tube.claim(requests, settled, sparedFrom);
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
}
