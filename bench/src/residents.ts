import { inFlight } from './in-flight.js';
import { patiently } from './patience.js';
import { payloadOf } from './payload.js';
import { FAR } from './schedule-round.js';
import type { Client } from './systems/system.js';

/** Jobs in one call, and calls in flight. */
const IN_CALL = 500;
const CALLS = 4;

export const RESIDENTS = 'residents';

/**
 * Adds jobs that wait in a queue of their own, and come due in an hour at the earliest. If a call fails and is tried again,
 * the jobs that it had stored are there twice.
 */
export async function addResidents(client: Client, jobs: number): Promise<void> {
  const begins = Array.from({ length: Math.ceil(jobs / IN_CALL) }, (_, call) => call * IN_CALL);
  await inFlight(
    begins,
    (begin) => {
      const length = Math.min(IN_CALL, jobs - begin);
      const call = Array.from({ length }, (_, index) => ({
        payload: payloadOf(begin + index),
        delay: FAR + begin + index,
      }));
      return patiently(() => client.delayMany(RESIDENTS, call));
    },
    CALLS,
  );
}
