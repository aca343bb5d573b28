import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach } from '@jest/globals';
import { Disk } from '../disk/disk.js';
import { VirtualClock } from '../test-kit/virtual-clock.js';

/** Opens what a process keeps on its disk; returns what closes it. */
export type Open = (disk: Disk, clock: VirtualClock) => Promise<() => unknown>;

/** What one process after the other keeps in the same folder. */
export class KeptOnDisk {
  clock = new VirtualClock();
  disk!: Disk;
  private close: () => unknown = () => undefined;

  constructor(
    private readonly dir: string,
    private readonly open: Open,
  ) {}

  async start(): Promise<void> {
    this.disk = await Disk.open(this.dir, this.clock);
    this.close = await this.open(this.disk, this.clock);
  }

  async stop(): Promise<void> {
    await this.close();
    await this.disk.close();
  }

  /** As the next process finds it, `later` milliseconds later. */
  async restart(later = 0): Promise<void> {
    await this.stop();
    this.clock = new VirtualClock(this.clock.wall() + later);
    await this.start();
  }
}

/** What the tests of a file keep, each in a folder of its own; `started` is told of it before each. */
export function keptOnDisk(open: Open, started: (kept: KeptOnDisk) => void): void {
  let dir: string;
  let kept: KeptOnDisk;

  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'nest-dq-kept-'));
    kept = new KeptOnDisk(dir, open);
    await kept.start();
    started(kept);
  });

  afterEach(async () => {
    await kept.stop();
    await rm(dir, { recursive: true });
  });
}
