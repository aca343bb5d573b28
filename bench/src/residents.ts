import { inFlight } from './in-flight.js';
import { patiently } from './patience.js';
import { payloadOf } from './payload.js';
import { FAR } from './schedule-round.js';
import type { Client } from './systems/product.js';

/** Jobs in one call, and calls in flight. */
const IN_CALL = 500;
const CALLS = 4;

export const RESIDENTS = 'residents';

/** Where jobs wait, and for how long. */
export interface Spread {
  /** Each gets the same part of the jobs; one that is there twice gets two parts. */
  readonly queues: readonly string[];
  /** The delay of a job in ms, by its number. */
  readonly delayOf: (n: number) => number;
}

/** A queue of their own, from which they come due in an hour, one each millisecond. */
const IN_AN_HOUR: Spread = { queues: [RESIDENTS], delayOf: (n) => FAR + n };

/** Adds jobs that wait. If a call fails and is tried again, the jobs that it had stored are there twice. */
export async function addResidents(
  client: Client,
  jobs: number,
  { queues, delayOf }: Spread = IN_AN_HOUR,
): Promise<void> {
  const calls = Array.from({ length: Math.ceil(jobs / IN_CALL) }, (_, call) => call);
  await inFlight(
    calls,
    (call) => {
      const begin = call * IN_CALL;
      const length = Math.min(IN_CALL, jobs - begin);
      const added = Array.from({ length }, (_, index) => ({
        payload: payloadOf(begin + index),
        delay: delayOf(begin + index),
      }));
      return patiently(() => client.delayMany(queues[call % queues.length]!, added));
    },
    CALLS,
  );
}
