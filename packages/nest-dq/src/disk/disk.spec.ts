import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { contents, folderOfTest, Texts } from '../../spec-support/folder-of-test.js';
import { VirtualClock } from 'nest-handlers/testing';
import { Disk } from './disk.js';

const folder = folderOfTest();

describe('a disk', () => {
  it('creates its folder, and keeps changes over restarts', async () => {
    folder.dir = join(folder.dir, 'in', 'depth');
    await folder.store({ a: '1', b: '2 ☂' });
    const disk = await folder.open();
    expect(await contents(disk)).toEqual({ a: '1', b: '2 ☂' });
    const part = new Texts(disk);
    part.set('a', undefined);
    part.set('b', '3');
    await disk.saved();
    await disk.close();
    expect(await contents(await folder.open())).toEqual({ b: '3' });
  });

  it('reports a change as saved only once it would survive the process', async () => {
    const disk = await folder.open();
    const part = new Texts(disk);
    part.set('a', '1');
    expect(disk.isSaved(disk.lastChange)).toBe(false);
    await disk.saved();
    expect(disk.isSaved(disk.lastChange)).toBe(true);
    expect(await contents(await folder.open(await folder.copyOf(disk)))).toEqual({ a: '1' });
  });

  it('makes one batch of a turn, and one of all that changes while it is written', async () => {
    const disk = await folder.open();
    const part = new Texts(disk);
    part.set('a', '1');
    part.set('b', '1');
    const first = disk.saved();
    await new Promise((resolve) => folder.clock.soon(() => resolve(undefined)));
    part.set('c', '1');
    const second = disk.saved();
    await new Promise((resolve) => folder.clock.soon(() => resolve(undefined)));
    part.set('d', '1');
    await Promise.all([first, second, disk.saved()]);
    expect(part.batches).toEqual([
      ['a', 'b'],
      ['c', 'd'],
    ]);
  });

  it('lets nobody wait for changes of others that came later', async () => {
    const disk = await folder.open();
    const part = new Texts(disk);
    part.set('a', '1');
    const order: string[] = [];
    const mine = disk.lastChange;
    await new Promise((resolve) => folder.clock.soon(() => resolve(undefined)));
    part.set('b', '1');
    const both = new Promise<void>((resolve) =>
      disk.whenSaved(disk.lastChange, () => {
        order.push('b');
        resolve();
      }),
    );
    disk.whenSaved(mine, () => order.push(disk.isSaved(disk.lastChange) ? 'late' : 'a'));
    await both;
    expect(order).toEqual(['a', 'b']);
  });

  it('writes the last changes when it is closed', async () => {
    const disk = await folder.open();
    new Texts(disk).set('a', '1');
    await Promise.all([disk.close(), disk.close()]);
    expect(await contents(await folder.open())).toEqual({ a: '1' });
  });

  it('has a time that does not go back when the machine’s clock was set back', async () => {
    const disk = await folder.open();
    await folder.clock.advance(5_000);
    new Texts(disk).set('a', '1');
    const before = disk.now();
    await disk.close();
    folder.clock = new VirtualClock(folder.clock.wall() - 3_600_000);
    const next = await folder.open();
    expect(next.now()).toBeGreaterThanOrEqual(before);
    expect(folder.warnings).toEqual([
      expect.stringMatching(/clock is 3600 s behind the time in the folder /),
    ]);
    await folder.clock.advance(1_000);
    expect(next.now()).toBeGreaterThanOrEqual(before + 1_000);
  });

  it('takes the machine’s time when that is ahead', async () => {
    await folder.store({ a: '1' });
    folder.clock = new VirtualClock(folder.clock.wall() + 60_000);
    const disk = await folder.open();
    expect(disk.now()).toBe(folder.clock.wall());
    expect(folder.warnings).toEqual([]);
  });

  it('fails for good at the first failed write, and notifies all who wait and listen', async () => {
    const disk = await folder.open();
    const part = new Texts(disk);
    part.set('a', '1');
    await disk.saved();
    const told: string[] = [];
    disk.onFailure(({ message }) => told.push(message));
    disk.add({
      collect: () => {
        throw new Error('no space left');
      },
    });
    part.set('b', '1');
    await expect(disk.saved()).rejects.toMatchObject({ code: 'DQ_DISK' });
    expect(told).toEqual([
      expect.stringContaining(
        `${folder.dir} could not be written, and nothing more will be written to it: no space left`,
      ),
    ]);
    part.set('c', '1');
    await expect(disk.saved()).rejects.toMatchObject({ code: 'DQ_DISK' });
    expect(part.batches).toEqual([['a'], ['b']]);
    await disk.close();
    expect(await contents(await folder.open())).toEqual({ a: '1' });
  });
});

describe('a folder that another has', () => {
  /** Time passes, from one try to the next. */
  async function timeUntil(isReached: () => boolean): Promise<void> {
    for (; !isReached(); await new Promise((resolve) => setImmediate(resolve))) folder.clock.runTimer();
  }

  it('is in use for longer than it is waited for, which is said once', async () => {
    await folder.open();
    const warnings: string[] = [];
    const warn = (message: string) => void warnings.push(message);
    let isRefused = false;
    const opening = Disk.open(folder.dir, folder.clock, { patience: 15_000, warn }).finally(
      () => (isRefused = true),
    );
    const refusal = expect(opening).rejects.toMatchObject({
      code: 'DQ_DISK',
      message: expect.stringContaining(
        `the folder ${folder.dir} is in use, and has been for 15 s: by another process`,
      ),
    });
    await timeUntil(() => isRefused);
    expect(folder.clock.now()).toBe(15_000);
    await refusal;
    expect(warnings).toEqual([`the folder ${folder.dir} is in use: waiting for it for at most 15 s`]);
  });

  it('is in use when whoever waits for it is closed', async () => {
    await folder.open();
    const waiting = new Disk(folder.dir, folder.clock, { patience: 15_000, warn: () => undefined });
    const refusal = expect(waiting.open()).rejects.toMatchObject({ code: 'DQ_DISK' });
    let isClosed = false;
    void waiting.close().then(() => (isClosed = true));
    await timeUntil(() => isClosed);
    await refusal;
    expect(folder.clock.now()).toBeLessThanOrEqual(500);
  });

  it('is begun by several at once: one has it, and for the others it is in use', async () => {
    folder.dir = join(folder.dir, 'in', 'depth');
    const results = await Promise.allSettled(Array.from({ length: 20 }, () => folder.open()));
    const reasons = results.flatMap((result) =>
      result.status === 'rejected' ? [String(result.reason)] : [],
    );
    expect(reasons).toEqual(Array.from({ length: 19 }, () => expect.stringContaining('is in use')));
    expect((await readdir(folder.dir)).filter((name) => name.startsWith('nest-dq'))).toEqual([
      'nest-dq.json',
    ]);
  });
});
