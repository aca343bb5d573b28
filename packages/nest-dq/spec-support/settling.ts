import { MemoryLedger, type MemoryTubeLedger } from '../src/ledger/memory/memory-ledger.js';
import type { DeletedCopy } from '../src/ledger/handover.js';
import type { SettledCopies } from '../src/ledger/requests.js';
import type { Deletion } from '../src/ledger/settle-queue.js';
import { VirtualClock } from 'nest-handlers/testing';
import { stored } from './stored.js';

export const SETTLING = { lease: 15_000, doneTtl: 600_000, staleAfter: 604_800_000 };

/** A ledger that notes the calls of settle. */
class NotingLedger extends MemoryLedger {
  readonly sent: [tube: string, settled: readonly SettledCopies[]][] = [];
  silent = false;

  override tube(name: string): MemoryTubeLedger {
    return Object.assign(Object.create(super.tube(name)) as MemoryTubeLedger, {
      settle: async (settled: readonly SettledCopies[]) => {
        this.sent.push([name, settled]);
        if (this.silent) throw new Error('no answer');
      },
    });
  }
}

export function notingLedger() {
  const clock = new VirtualClock();
  const ledger = new NotingLedger({ settings: SETTLING, clock });
  return { clock, ledger, sent: ledger.sent };
}

/** Three servers, with the instances i0, i1 and i2. */
export const witnesses = () =>
  [0, 1, 2].map((index) => ({ instance: `i${index}` as string | undefined, logStopped: false }));
/** A deleted copy. The copy of each index is on a server of its own. */
export const copy = (index: number): DeletedCopy => ({ index, instance: `i${index}` });
export const deletion = (id: string, copies: readonly DeletedCopy[] = [copy(0)], tube = 't'): Deletion => ({
  tube: stored(tube),
  id,
  generation: 0,
  copies,
  unknown: false,
});
