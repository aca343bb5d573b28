import { beforeEach, describe, expect, it } from '@jest/globals';
import { VirtualClock } from 'nest-handlers/testing';
import { folderOfTest, Texts } from '../../spec-support/folder-of-test.js';
import { Disk } from './disk.js';
import { FreeSpace } from './free-space.js';

const MIB = 1024 * 1024;

let clock: VirtualClock;
let warnings: string[];
let looks: number;
let free: number | Error;

beforeEach(() => {
  clock = new VirtualClock();
  warnings = [];
  looks = 0;
  free = 1_000 * MIB;
});

const freeOf = async () => {
  looks++;
  if (free instanceof Error) throw free;
  return free;
};

const spaceWith = (least: number) =>
  new FreeSpace('/data', clock, least, (message) => warnings.push(message), freeOf);

describe('free space', () => {
  it('is checked every 5 s, and reported once when it runs low and once when it recovers', async () => {
    const space = spaceWith(64 * MIB);
    space.watch();
    await clock.advance(5_000);
    expect([looks, space.isLow]).toEqual([1, false]);
    free = 64 * MIB - 1;
    await clock.advance(4_999);
    expect([looks, space.isLow]).toEqual([1, false]);
    await clock.advance(60_000);
    expect([looks, space.isLow]).toEqual([13, true]);
    free = 64 * MIB;
    await clock.advance(60_000);
    expect(space.isLow).toBe(false);
    expect(warnings).toEqual([
      'the file system of the folder /data has 63 MiB free, less than the 64 MiB of `minFree`: new jobs are rejected until there is room; stored jobs still run',
      'the file system of the folder /data has 64 MiB free: new jobs are accepted again',
    ]);
    space.stop();
    expect(clock.nextTimer).toBe(Infinity);
  });

  it('is looked at sooner if a quarter of the least was written', async () => {
    const space = spaceWith(64 * MIB);
    free = 0;
    space.wrote(16 * MIB - 1);
    await clock.advance(0);
    expect([looks, space.isLow]).toEqual([0, false]);
    space.wrote(1);
    await clock.advance(0);
    expect([looks, space.isLow]).toEqual([1, true]);
    free = 100 * MIB;
    await clock.advance(5_000);
    expect([looks, space.isLow]).toEqual([2, false]);
    expect(clock.nextTimer).toBe(Infinity); // nobody watches it, so it keeps no process alive
  });

  it('stops nobody when it cannot be read, and that is reported once', async () => {
    const space = spaceWith(64 * MIB);
    free = new Error('ENOSYS');
    space.watch();
    await clock.advance(20_000);
    expect([looks, space.isLow]).toEqual([4, false]);
    expect(warnings).toEqual([
      'the free space of the folder /data cannot be determined (ENOSYS), so `minFree` has no effect',
    ]);
  });

  it('is not looked at without a least', async () => {
    const space = spaceWith(0);
    free = 0;
    space.watch();
    space.wrote(1e12);
    await clock.advance(60_000);
    expect([looks, space.isLow]).toEqual([0, false]);
  });
});

describe('a disk', () => {
  const folder = folderOfTest();

  it('looks when it is opened, and after what it has written', async () => {
    const settings = {
      patience: 0,
      warn: (message: string) => void warnings.push(message),
      minFree: 4_000,
      freeOf,
    };
    const disk = await Disk.open(folder.dir, folder.clock, settings);
    expect(looks).toBe(1);
    const part = new Texts(disk);
    free = 0;
    part.set('a', 'x'.repeat(500));
    await disk.saved();
    expect([looks, disk.space.isLow]).toEqual([1, false]);
    part.set('b', 'x'.repeat(500));
    await disk.saved();
    await folder.clock.advance(0);
    expect([looks, disk.space.isLow]).toEqual([2, true]);
    await disk.close();
    expect(folder.clock.nextTimer).toBe(Infinity);
    expect(warnings).toHaveLength(1);
  });
});
