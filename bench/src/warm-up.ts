import { inFlight } from './in-flight.js';
import { payloads } from './payload.js';
import { RunCount } from './run-count.js';
import type { Client } from './systems/system.js';

const JOBS = 10_000;
const CONCURRENCY = 256;
const HOUR = 3_600_000;

/**
 * Runs some jobs and adds others that stay, so that connections are open, scripts are loaded and code is compiled. Resolves
 * with the number of jobs that the client then adds in a second, 256 in flight.
 */
export async function warmUp(client: Client): Promise<number> {
  const jobs = payloads(JOBS);
  const runs = new RunCount(JOBS);
  const stop = await client.consume('warm-up', runs.add, CONCURRENCY);
  await inFlight(jobs, (payload) => client.now('warm-up', payload));
  await runs.done;
  await stop();
  const from = performance.now();
  await inFlight(jobs, (payload) => client.delay('warm-up', payload, HOUR));
  return (1000 * JOBS) / (performance.now() - from);
}
