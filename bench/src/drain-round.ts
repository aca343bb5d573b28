import { alignClock, machineTime } from './clock.js';
import { cpuTime, cpuSince, type CpuTime } from './cpu.js';
import { inFlight } from './in-flight.js';
import { payloads } from './payload.js';
import { RunCount } from './run-count.js';
import type { System } from './systems/system.js';
import { pause, pauseUntil } from './waiting.js';

/** Handlers at once. */
export const CONCURRENCY = 256;
/** The adds may take this many times as long as in the warm-up. SPARE is a reserve after that, in ms. */
const SLOWER = 1.5;
const SPARE = 1_500;
/** Milliseconds for the completions and deletions after the last handler. */
const AFTERMATH = 500;

export interface Drain {
  /** Measured from the due time to the start of the last handler. */
  readonly jobsPerSecond: number;
  /** Milliseconds for all jobs, without the adds. */
  readonly cpu: CpuTime;
}

/** A due time (ms since 1970) for jobs that are added from now on, so late that these systems store all of them before it. */
export function dueAfterAdding(jobs: number, ...systems: readonly System[]): number {
  const times = systems.map(({ addsPerSecond }) => (1000 * SLOWER * jobs) / addsPerSecond);
  return Math.ceil(times.reduce((sum, time) => sum + time, machineTime() + SPARE));
}

/** Rejects if a job is due before all are stored: the machine is too slow for this measure. */
export async function addBeforeDue(
  { client, product }: System,
  queue: string,
  jobs: readonly { n: number; due: number; text: string }[],
): Promise<void> {
  await inFlight(jobs, (payload) => client.at(queue, payload));
  const late = machineTime() - jobs[0]!.due;
  if (late > 0)
    throw new Error(`${product}: ${jobs.length} adds ended ${late.toFixed(0)} ms after the first was due`);
}

/** One consumer waits for jobs that all come due at one moment. */
export async function drainRound(system: System, jobs: number): Promise<Drain> {
  const { client, servers } = system;
  const queue = system.newQueue();
  alignClock();
  const runs = new RunCount(jobs);
  const stop = await client.consume(queue, runs.add, CONCURRENCY);
  const due = dueAfterAdding(jobs, system);
  await addBeforeDue(system, queue, payloads(jobs, due));
  const before = await cpuTime(servers.pids);
  await pauseUntil(due);
  await runs.done;
  await pause(AFTERMATH);
  const cpu = await cpuSince(before, servers.pids);
  await stop();
  return { jobsPerSecond: (1000 * jobs) / (runs.lastAt - due), cpu };
}
