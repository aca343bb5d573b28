import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach } from '@jest/globals';
import { Disk } from '../src/disk/disk.js';
import { VirtualClock } from 'nest-handlers/testing';

/** Opens what a process stores on its disk. Resolves with a function that closes it. */
export type Open = (disk: Disk, clock: VirtualClock) => Promise<() => unknown>;

/** Processes that use the same folder, one after the other. Each test has a new folder. */
export class RestartsOnDisk {
  clock!: VirtualClock;
  disk!: Disk;
  private dir!: string;
  private close!: () => unknown;

  constructor(private readonly open: Open) {}

  async begin(): Promise<void> {
    this.dir = await mkdtemp(join(tmpdir(), 'nest-dq-restarts-'));
    this.clock = new VirtualClock();
    await this.start();
  }

  /** Ends the process, and starts the next one `later` milliseconds later. */
  async restart(later = 0): Promise<void> {
    await this.stop();
    this.clock = new VirtualClock(this.clock.wall() + later);
    await this.start();
  }

  async end(): Promise<void> {
    await this.stop();
    await rm(this.dir, { recursive: true });
  }

  private async start(): Promise<void> {
    this.disk = await Disk.open(this.dir, this.clock);
    this.close = await this.open(this.disk, this.clock);
  }

  private async stop(): Promise<void> {
    await this.close();
    await this.disk.close();
  }
}

/** Gives each test of a file its processes. The first one starts before the test, and the last one ends after it. */
export function restartsOnDisk(open: Open): RestartsOnDisk {
  const restarts = new RestartsOnDisk(open);
  beforeEach(() => restarts.begin());
  afterEach(() => restarts.end());
  return restarts;
}
