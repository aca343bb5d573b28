import { inFlight } from './in-flight.js';
import { payloads } from './payload.js';
import { RunCount } from './run-count.js';
import type { Client } from './systems/product.js';
import { pause } from './waiting.js';

/** The rates of both products rise until a new process has done a thing about so often. */
export const WARM_UP = 20_000;
const CONCURRENCY = 256;
/** Delay of the jobs that are due soon, in ms. */
const SOON = 500;
const HOUR = 3_600_000;
/** Milliseconds, in which what is done behind the last answers ends. */
const REST = 200;

/**
 * Runs jobs, of which one half is due at once and the other half soon, and then adds as many that stay, so that connections are
 * open, scripts are loaded and code is compiled. Resolves with the number of jobs that the client then adds in a second, 256 in
 * flight. Deletions behind the runs end while these are added.
 */
export async function warmUp(client: Client): Promise<number> {
  const jobs = payloads(WARM_UP);
  const runs = new RunCount(WARM_UP);
  const stop = await client.consume('warm-up', runs.add, CONCURRENCY);
  await inFlight(jobs, (payload) =>
    payload.n % 2 === 0 ? client.now('warm-up', payload) : client.delay('warm-up', payload, SOON),
  );
  await runs.done;
  await stop();
  const from = performance.now();
  await inFlight(jobs, (payload) => client.delay('warm-up', payload, HOUR));
  const took = performance.now() - from;
  await pause(REST);
  return (1000 * WARM_UP) / took;
}
