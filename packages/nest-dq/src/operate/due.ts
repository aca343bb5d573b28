import type { TubeView } from './tube-view.js';

/**
 * Due jobs of a tube. The ledger's list counts jobs; nodes count copies, also of jobs that are over. Undefined if neither answered.
 */
export function dueOf({
  overdue,
  due,
}: { readonly [Name in 'overdue' | 'due']?: TubeView[Name] }): number | undefined {
  return overdue !== undefined && overdue > 0 ? overdue : (due ?? overdue);
}
