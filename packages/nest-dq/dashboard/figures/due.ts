import type { TubeWire } from '../../src/dashboard/wire.js';

/** Due jobs of a tube. The ledger's list counts jobs; nodes count copies, also of jobs that are over. */
export function dueOf({ overdue, due }: Pick<TubeWire, 'overdue' | 'due'>): number | undefined {
  return overdue !== undefined && overdue > 0 ? overdue : due;
}
