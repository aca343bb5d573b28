import { statfs } from 'node:fs/promises';
import type { Clock } from 'nest-handlers/time';
import { toError, wrongValue } from '../errors.js';
import { WakeTimer } from '../time/wake-timer.js';

/** Minimum free space: room for what existing jobs still write, and for LevelDB's compactions. */
export const DEFAULT_MIN_FREE_BYTES = 64 * 1024 * 1024;

/** Pause between two checks. */
const LOOK_EVERY_MS = 5_000;
const MIB = 1024 * 1024;

/** Resolves with the number of bytes this process may still write to a folder's file system. */
export type FreeSpaceOf = (dir: string) => Promise<number>;

/** Checks whether a folder's file system is low on space, so that jobs are refused before a write fails. */
export class FreeSpace {
  /** Result of the last check. */
  isLow = false;
  private written = 0;
  private isLooking = false;
  private isStopped = false;
  private isTold = false;
  private isWatched = false;
  private readonly timer: WakeTimer;

  constructor(
    private readonly dir: string,
    clock: Clock,
    /** Minimum in bytes; 0 disables the check. */
    private readonly least: number,
    /** Receives warnings for the operator, one sentence each. */
    private readonly warn: (message: string) => void,
    private readonly freeOf: FreeSpaceOf,
  ) {
    this.timer = new WakeTimer(clock, () => void this.look());
  }

  /** Checks every 5 s from now on, which keeps the process alive. */
  watch(): void {
    this.isWatched = true;
    this.lookLater();
  }

  /** Counts written bytes: a check is due after a quarter of the minimum. */
  wrote(bytes: number): void {
    this.written += bytes;
    if (this.written >= this.least / 4) void this.look();
  }

  stop(): void {
    this.isStopped = true;
    this.timer.cancel();
  }

  async look(): Promise<void> {
    if (this.least === 0 || this.isLooking || this.isStopped) return;
    this.isLooking = true;
    this.written = 0;
    try {
      this.learn(await this.freeOf(this.dir));
    } catch (thrown) {
      this.cannotLook(toError(thrown));
    }
    this.isLooking = false;
    this.lookLater();
  }

  private lookLater(): void {
    const mustLook = this.isWatched || this.isLow; // else nobody would notice that there is room again
    if (mustLook && this.least > 0 && !this.isStopped) this.timer.within(LOOK_EVERY_MS);
  }

  private learn(free: number): void {
    const isLow = free < this.least;
    if (isLow === this.isLow || this.isStopped) return;
    this.isLow = isLow;
    const has = `the file system of the folder ${this.dir} has ${inMib(free)} free`;
    this.warn(
      isLow
        ? `${has}, less than the ${inMib(this.least)} of \`minFree\`: new jobs are rejected until there is room; stored jobs still run`
        : `${has}: new jobs are accepted again`,
    );
  }

  private cannotLook({ message }: Error): void {
    this.isLow = false;
    if (this.isTold || this.isStopped) return;
    this.isTold = true;
    this.warn(
      `the free space of the folder ${this.dir} cannot be determined (${message}), so \`minFree\` has no effect`,
    );
  }
}

/** Throws `DQ_CONFIG` if `minFree` isn't a number of bytes. `name` is that of the option. */
export function checkMinFree(name: string, value: unknown = DEFAULT_MIN_FREE_BYTES): number {
  if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number;
  throw wrongValue('DQ_CONFIG', `\`${name}\``, value, 'a number of bytes, 0 or more');
}

/** Asks the system. */
export const systemFreeSpace: FreeSpaceOf = async (dir) => {
  const { bavail, bsize } = await statfs(dir);
  return bavail * bsize;
};

function inMib(bytes: number): string {
  return `${Math.floor(bytes / MIB)} MiB`;
}
