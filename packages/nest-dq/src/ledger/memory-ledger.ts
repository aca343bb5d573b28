import { DqError } from '../errors.js';
import type { Clock } from '../time.js';
import type { Ledger, LedgerSettings } from './ledger.js';
import { MemoryTubeLedger } from './memory-tube-ledger.js';

/** The ledger of one process, for the embedded node. Its time starts as the machine's and never jumps. */
export class MemoryLedger implements Ledger {
  private readonly tubes = new Map<string, MemoryTubeLedger>();
  private readonly now: () => number;
  private closed = false;

  constructor(private readonly options: { readonly settings: LedgerSettings; readonly clock: Clock }) {
    const { clock } = options;
    const offset = clock.wall() - clock.now();
    this.now = () => clock.now() + offset;
  }

  tube(name: string): MemoryTubeLedger {
    let tube = this.tubes.get(name);
    if (!tube) {
      tube = new MemoryTubeLedger(this.options.settings, this.now, () => this.checkOpen());
      this.tubes.set(name, tube);
    }
    return tube;
  }

  start(): void {
    this.checkOpen();
  }

  /** It is never away. */
  listen(): () => void {
    return () => undefined;
  }

  close(): Promise<void> {
    this.closed = true;
    return Promise.resolve();
  }

  private checkOpen(): void {
    if (this.closed) throw new DqError('DQ_CLOSED', 'the ledger is closed');
  }
}
