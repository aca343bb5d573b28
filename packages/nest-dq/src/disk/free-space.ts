import { statfs } from 'node:fs/promises';
import type { Clock } from 'nest-handlers/time';
import { toError, wrongValue } from '../errors.js';
import { WakeTimer } from '../time/wake-timer.js';

/** Bytes. Room for what jobs that go and come back still write, and for LevelDB to tidy up. */
export const DEFAULT_MIN_FREE = 64 * 1024 * 1024;

/** Milliseconds from one look to the next. */
const LOOK_EVERY = 5_000;
const MIB = 1024 * 1024;

/** Bytes that this process may still write to the file system of a folder. */
export type FreeSpaceOf = (dir: string) => Promise<number>;

/** Whether a folder's file system has little room left, so that no more jobs are taken before a write fails. */
export class FreeSpace {
  /** As of the last look. */
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
    /** Bytes; 0: it never looks. */
    private readonly least: number,
    /** Gets warnings for the operator, one sentence each. */
    private readonly warn: (message: string) => void,
    private readonly freeOf: FreeSpaceOf,
  ) {
    this.timer = new WakeTimer(clock, () => void this.look());
  }

  /** From now on it looks every 5 s, which keeps the process alive. */
  watch(): void {
    this.isWatched = true;
    this.lookLater();
  }

  /** So many bytes were written: a look is due after a quarter of the least. */
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
    const mustLook = this.isWatched || this.isLow; // else nobody would see that there is room again
    if (mustLook && this.least > 0 && !this.isStopped) this.timer.within(LOOK_EVERY);
  }

  private learn(free: number): void {
    const isLow = free < this.least;
    if (isLow === this.isLow || this.isStopped) return;
    this.isLow = isLow;
    const has = `the file system of the folder ${this.dir} has ${inMib(free)} free`;
    this.warn(
      isLow
        ? `${has}, less than the ${inMib(this.least)} of \`minFree\`: no more jobs are taken until there is room; those that are stored run`
        : `${has}: jobs are taken again`,
    );
  }

  private cannotLook({ message }: Error): void {
    this.isLow = false;
    if (this.isTold || this.isStopped) return;
    this.isTold = true;
    this.warn(
      `how much room the folder ${this.dir} has cannot be seen (${message}), so \`minFree\` does nothing`,
    );
  }
}

/** `DQ_CONFIG`: `minFree` is no number of bytes. `name`: of the option. */
export function checkMinFree(name: string, value: unknown = DEFAULT_MIN_FREE): number {
  if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number;
  throw wrongValue('DQ_CONFIG', `\`${name}\``, value, 'bytes, a whole number of 0 or more');
}

/** What the system says. */
export const systemFreeSpace: FreeSpaceOf = async (dir) => {
  const { bavail, bsize } = await statfs(dir);
  return bavail * bsize;
};

function inMib(bytes: number): string {
  return `${Math.floor(bytes / MIB)} MiB`;
}
