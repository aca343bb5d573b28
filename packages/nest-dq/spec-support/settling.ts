import type { DeletedCopy, Deletion } from '../src/ledger/deleted-copies.js';
import { MemoryLedger, type MemoryTubeLedger } from '../src/ledger/memory/memory-ledger.js';
import type { SettledCopies } from '../src/ledger/requests.js';
import { VirtualClock } from '../src/test-kit/virtual-clock.js';
import { stored } from './stored.js';

const SETTINGS = { lease: 15_000, doneTtl: 600_000, staleAfter: 604_800_000 };

/** Notes what is settled in a call of its own. */
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
  const ledger = new NotingLedger({ settings: SETTINGS, clock });
  return { clock, ledger, sent: ledger.sent };
}

export const witness = (instance = 'i1') => ({ instance: instance as string | undefined, logStopped: false });
const node = witness();
export const copy = (index: number, of = node): DeletedCopy => ({ index, node: of, instance: 'i1' });
export const deletion = (id: string, copies: readonly DeletedCopy[] = [copy(0)], tube = 't'): Deletion => ({
  tube: stored(tube),
  id,
  generation: 0,
  copies,
  unknown: false,
});
