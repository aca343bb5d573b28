import { cpuSince, cpuTime, type CpuTime } from './cpu.js';
import { inFlight } from './in-flight.js';
import { payloads } from './payload.js';
import type { System } from './systems/system.js';

/** Milliseconds: so long that no job comes due. */
export const FAR = 3_600_000;

export interface Schedule {
  /** Measured from the first call to the last acknowledgement. */
  readonly jobsPerSecond: number;
  /** Milliseconds for all jobs. */
  readonly cpu: CpuTime;
}

/** Adds jobs one by one, 256 in flight. */
export async function scheduleRound(system: System, jobs: number): Promise<Schedule> {
  const { client, servers } = system;
  const queue = system.newQueue();
  const all = payloads(jobs);
  const before = await cpuTime(servers.pids);
  const from = performance.now();
  await inFlight(all, (payload) => client.delay(queue, payload, FAR));
  const took = performance.now() - from;
  return { jobsPerSecond: (1000 * jobs) / took, cpu: await cpuSince(before, servers.pids) };
}
