// What disturbs a measure from outside. Linux only: it reads /proc.
import { readFile } from 'node:fs/promises';

export interface Disturbance {
  /** How long the measure took, in seconds. */
  readonly took: number;
  /** The part of the CPU time that the host gave to other virtual machines, in %. */
  readonly stolen: number;
  /** The part of the time in which all tasks that were not idle waited for the disk, in %. Absent if Linux does not count it. */
  readonly disk?: number;
}

/** Counters of the machine. */
export interface MachineTimes {
  /** Milliseconds. */
  readonly at: number;
  /** The time of all processors, in ticks. */
  readonly processors: number;
  /** The time that the host gave to others although a process here could have run, in ticks. */
  readonly stolen: number;
  /** The time in which all tasks that were not idle waited for the disk, in milliseconds. */
  readonly disk: number | undefined;
}

/** Its position in the first line of /proc/stat, counted after the name. */
const STEAL_TIME = 7;

export async function machineTimes(): Promise<MachineTimes> {
  const at = performance.now();
  return {
    at,
    ...readProcessors(await readFile('/proc/stat', 'utf8')),
    disk: readDisk(await diskPressure()),
  };
}

export async function disturbanceSince(before: MachineTimes): Promise<Disturbance> {
  return disturbance(before, await machineTimes());
}

export function disturbance(before: MachineTimes, after: MachineTimes): Disturbance {
  const took = after.at - before.at;
  const stolen = (100 * (after.stolen - before.stolen)) / (after.processors - before.processors);
  const known = before.disk !== undefined && after.disk !== undefined;
  return { took: took / 1000, stolen, ...(known && { disk: (100 * (after.disk - before.disk)) / took }) };
}

/** Reads the text of /proc/stat. */
export function readProcessors(stat: string): Pick<MachineTimes, 'processors' | 'stolen'> {
  const [, ...times] = stat.slice(0, stat.indexOf('\n')).split(/ +/);
  // The fields after steal are the times of guests, which are already part of the first two.
  const counted = times.slice(0, STEAL_TIME + 1).map(Number);
  return { processors: counted.reduce((sum, time) => sum + time, 0), stolen: counted[STEAL_TIME]! };
}

/** Reads the text of /proc/pressure/io. */
export function readDisk(pressure: string): number | undefined {
  const micros = /^full .*total=(\d+)$/m.exec(pressure)?.[1];
  return micros === undefined ? undefined : Number(micros) / 1000;
}

/** Empty if the kernel was built or started without this file. */
function diskPressure(): Promise<string> {
  return readFile('/proc/pressure/io', 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'EOPNOTSUPP') return '';
    throw error;
  });
}
