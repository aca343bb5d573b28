import { alignClock, machineTime } from './clock.js';
import { cpuTime, cpuSince, type CpuTime } from './cpu.js';
import { inFlight } from './in-flight.js';
import { payloads } from './payload.js';
import { RunCount } from './run-count.js';
import type { System } from './systems/system.js';
import { pause, pauseUntil } from './waiting.js';

/** Handlers at once. */
export const CONCURRENCY = 256;
/** Adds may take this much longer than they did at the warm-up, and then there are so many ms to spare. */
const SLOWER = 1.5;
const SPARE = 1_500;
/** Milliseconds in which what follows the last handler is done: finishes, deletions. */
const AFTERMATH = 500;

export interface Drain {
  /** From the due moment to the start of the last handler. */
  readonly jobsPerSecond: number;
  /** Milliseconds in all, without the adds. */
  readonly cpu: CpuTime;
}

/** When jobs can be due that are added to these systems from now on, in ms since 1970, so that all are stored by then. */
export function dueAfterAdding(jobs: number, ...systems: readonly System[]): number {
  const times = systems.map(({ addsPerSecond }) => (1000 * SLOWER * jobs) / addsPerSecond);
  return Math.ceil(times.reduce((sum, time) => sum + time, machineTime() + SPARE));
}

/** Rejects when not all are stored before they are due: the machine is too slow for the measure. */
export async function addBeforeDue(
  { client, product }: System,
  queue: string,
  jobs: readonly { n: number; due: number; text: string }[],
): Promise<void> {
  await inFlight(jobs, (payload) => client.at(queue, payload));
  const late = machineTime() - jobs[0]!.due;
  if (late > 0)
    throw new Error(
      `${product.name}: ${jobs.length} adds ended ${late.toFixed(0)} ms after the first was due`,
    );
}

/** One consumer is there before jobs come due, all at one moment. */
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
