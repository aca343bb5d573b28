// The messages to the lease thread.
import { packIds, packRuns, type LeaseMessage, type RunLease } from '../src/ledger/lease-thread/run-lease.js';

export function leaseOf(id: string, of: Partial<RunLease> = {}): RunLease {
  return {
    id,
    generation: 3,
    born: 2,
    due: 900,
    fence: 9,
    attempt: 1,
    lastOk: 800,
    timeout: Infinity,
    ...of,
  };
}

export interface Told {
  readonly tube?: string;
  readonly over?: readonly string[];
  readonly granted?: readonly RunLease[];
  readonly beat?: boolean;
}

/** A message, about the tube `t` by default. */
export function leaseMessage({ tube = 't', over = [], granted = [], beat = false }: Told): LeaseMessage {
  return { tube, over: packIds(over), granted: packRuns(granted), beat };
}
