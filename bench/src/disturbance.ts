// What disturbs a measure from outside. Linux only: it reads /proc.
import { readFile } from 'node:fs/promises';

export interface Disturbance {
  /** Seconds it is about. */
  readonly took: number;
  /** Which part of the processors' time the host of a virtual machine gave to others meanwhile, in %. */
  readonly stolen: number;
  /** In which part of the time whatever was not idle waited for the disk, in %; absent where Linux does not count that. */
  readonly disk?: number;
}

/** Up to now. */
export interface MachineTimes {
  /** Milliseconds. */
  readonly at: number;
  /** Of all processors, in ticks. */
  readonly processors: number;
  /** In ticks: what the host gave to others, although something here could have run. */
  readonly stolen: number;
  /** Milliseconds. */
  readonly disk: number | undefined;
}

/** Of the first line of /proc/stat, behind its name. */
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

/** Of the text of /proc/stat. */
export function readProcessors(stat: string): Pick<MachineTimes, 'processors' | 'stolen'> {
  const [, ...times] = stat.slice(0, stat.indexOf('\n')).split(/ +/);
  // What a guest of ours used is in the first two once more.
  const counted = times.slice(0, STEAL_TIME + 1).map(Number);
  return { processors: counted.reduce((sum, time) => sum + time, 0), stolen: counted[STEAL_TIME]! };
}

/** Of the text of /proc/pressure/io. */
export function readDisk(pressure: string): number | undefined {
  const micros = /^full .*total=(\d+)$/m.exec(pressure)?.[1];
  return micros === undefined ? undefined : Number(micros) / 1000;
}

/** Empty where the kernel was built or started without it. */
function diskPressure(): Promise<string> {
  return readFile('/proc/pressure/io', 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'EOPNOTSUPP') return '';
    throw error;
  });
}
