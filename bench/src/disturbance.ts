// Disturbance of a measure from outside. Linux only: reads /proc.
import { readFile } from 'node:fs/promises';

export interface Disturbance {
  /** In how many seconds. */
  readonly took: number;
  /** The part of the CPU time that the host gave to other virtual machines, in %. */
  readonly stolen: number;
  /** The part of the time in which all tasks that were not idle waited for the disk, in %. Absent if Linux does not count it. */
  readonly disk?: number;
}

/** Counters of the machine, or what they counted in some time. */
export interface MachineTimes {
  /** Time of the reading, or time between two readings, in ms. */
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

export async function timesSince(before: MachineTimes): Promise<MachineTimes> {
  return combined(await machineTimes(), before, (now, then) => now - then);
}

const NO_TIME: MachineTimes = { at: 0, processors: 0, stolen: 0, disk: 0 };

export function totalTimes(all: readonly MachineTimes[]): MachineTimes {
  return all.reduce((sum, times) => combined(sum, times, (a, b) => a + b), NO_TIME);
}

function combined(a: MachineTimes, b: MachineTimes, by: (a: number, b: number) => number): MachineTimes {
  const known = a.disk !== undefined && b.disk !== undefined;
  return {
    at: by(a.at, b.at),
    processors: by(a.processors, b.processors),
    stolen: by(a.stolen, b.stolen),
    disk: known ? by(a.disk!, b.disk!) : undefined,
  };
}

/** Returns the disturbance during the time that these counters cover. */
export function disturbance({ at, processors, stolen, disk }: MachineTimes): Disturbance {
  return {
    took: at / 1000,
    stolen: share(stolen, processors),
    ...(disk !== undefined && { disk: share(disk, at) }),
  };
}

/** The disturbance of all these times together. */
export function totalDisturbance(all: readonly Disturbance[]): Disturbance {
  const took = all.reduce((sum, each) => sum + each.took, 0);
  const of = (part: (each: Disturbance) => number) =>
    share(all.reduce((sum, each) => sum + each.took * part(each), 0) / 100, took);
  const known = all.every(({ disk }) => disk !== undefined);
  return { took, stolen: of(({ stolen }) => stolen), ...(known && { disk: of(({ disk }) => disk!) }) };
}

/** In %; 0 of no time. */
function share(part: number, whole: number): number {
  return whole === 0 ? 0 : (100 * part) / whole;
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
