import { createHash } from 'node:crypto';
import {
  cp,
  mkdir,
  mkdtemp,
  readFile,
  readdir,
  rename,
  rm,
  stat,
  symlink,
  truncate,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { VirtualClock } from '../test-kit/virtual-clock.js';
import { Disk, type DiskPart } from './disk.js';
import { VALUE, type DiskBatch } from './entries.js';

/** Texts by their keys. */
class Texts implements DiskPart {
  private readonly changed = new Map<string, string | undefined>();
  /** What each batch held, in order. */
  readonly batches: string[][] = [];

  constructor(private readonly disk: Disk) {
    disk.add(this);
  }

  set(key: string, text: string | undefined): void {
    this.changed.set(key, text);
    this.disk.changed();
  }

  collect(batch: DiskBatch): void {
    this.batches.push([...this.changed.keys()]);
    for (const [key, text] of this.changed) {
      if (text === undefined) batch.delete(`text ${key}`);
      else batch.putText(`text ${key}`, text);
    }
    this.changed.clear();
  }
}

let parent: string;
let dir: string;
let clock: VirtualClock;
let opened: Disk[];

beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), 'nest-dq-disk-'));
  dir = join(parent, 'data');
  clock = new VirtualClock();
  opened = [];
});

afterEach(async () => {
  for (const disk of opened) await disk.close();
  await rm(parent, { recursive: true });
});

async function open(at = dir): Promise<Disk> {
  const disk = await Disk.open(at, clock);
  opened.push(disk);
  return disk;
}

/** With a patience of 15 s. */
function openWaiting() {
  const warnings: string[] = [];
  const warn = (message: string) => void warnings.push(message);
  const opening = Disk.open(dir, clock, { patience: 15_000, warn });
  let isSettled = false;
  const settled = () => void (isSettled = true);
  void opening.then(settled, settled);
  return { opening, warnings, isSettled: () => isSettled };
}

/** Time passes, from one try to the next. */
async function timeUntil(isReached: () => boolean): Promise<void> {
  for (; !isReached(); await new Promise((resolve) => setImmediate(resolve))) clock.runTimer();
}

async function contents(disk: Disk): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  await disk.read('text ', (key, value) => (found[key] = value.toString('utf8', VALUE)));
  return found;
}

async function keep(texts: Record<string, string>): Promise<void> {
  const disk = await open();
  const part = new Texts(disk);
  for (const [key, text] of Object.entries(texts)) {
    part.set(key, text);
    await disk.saved();
  }
  await disk.close();
}

/** A folder as whoever is killed leaves it: LevelDB has written no table, all is in its log. */
async function kill(disk: Disk): Promise<string> {
  const copy = join(parent, 'copy');
  await cp(disk.dir, copy, { recursive: true });
  return copy;
}

/** Where the records of a short manifest begin. */
function recordsOf(manifest: Buffer): number[] {
  const found: number[] = [];
  for (let at = 0; at < manifest.length; at += 7 + manifest.readUInt16LE(at + 4)) found.push(at);
  return found;
}

describe('a disk', () => {
  it('makes its folder, and keeps what was changed, over restarts', async () => {
    dir = join(dir, 'in', 'depth');
    await keep({ a: '1', b: '2 ☂' });
    const disk = await open();
    expect(await contents(disk)).toEqual({ a: '1', b: '2 ☂' });
    const part = new Texts(disk);
    part.set('a', undefined);
    part.set('b', '3');
    await disk.saved();
    await disk.close();
    expect(await contents(await open())).toEqual({ b: '3' });
  });

  it('tells that a change is saved only once it would survive the process', async () => {
    const disk = await open();
    const part = new Texts(disk);
    part.set('a', '1');
    expect(disk.isSaved(disk.lastChange)).toBe(false);
    await disk.saved();
    expect(disk.isSaved(disk.lastChange)).toBe(true);
    expect(await contents(await open(await kill(disk)))).toEqual({ a: '1' });
  });

  it('makes one batch of a turn, and one of all that changes while it is written', async () => {
    const disk = await open();
    const part = new Texts(disk);
    part.set('a', '1');
    part.set('b', '1');
    const first = disk.saved();
    await new Promise((resolve) => clock.soon(() => resolve(undefined)));
    part.set('c', '1');
    const second = disk.saved();
    await new Promise((resolve) => clock.soon(() => resolve(undefined)));
    part.set('d', '1');
    await Promise.all([first, second, disk.saved()]);
    expect(part.batches).toEqual([
      ['a', 'b'],
      ['c', 'd'],
    ]);
  });

  it('lets nobody wait for changes of others that came later', async () => {
    const disk = await open();
    const part = new Texts(disk);
    part.set('a', '1');
    const order: string[] = [];
    const mine = disk.lastChange;
    await new Promise((resolve) => clock.soon(() => resolve(undefined)));
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
    const disk = await open();
    new Texts(disk).set('a', '1');
    await Promise.all([disk.close(), disk.close()]);
    expect(await contents(await open())).toEqual({ a: '1' });
  });

  it('has a time that does not go back when the machine’s clock was set back', async () => {
    const disk = await open();
    await clock.advance(5_000);
    new Texts(disk).set('a', '1');
    const before = disk.now();
    await disk.close();
    clock = new VirtualClock(clock.wall() - 3_600_000);
    const next = await open();
    expect(next.now()).toBeGreaterThanOrEqual(before);
    expect(next.warning).toMatch(/clock is 3600 s behind the time in the folder /);
    await clock.advance(1_000);
    expect(next.now()).toBeGreaterThanOrEqual(before + 1_000);
  });

  it('takes the machine’s time when that has gone on', async () => {
    await keep({ a: '1' });
    clock = new VirtualClock(clock.wall() + 60_000);
    const disk = await open();
    expect(disk.now()).toBe(clock.wall());
    expect(disk.warning).toBeUndefined();
  });

  it('fails for good at the first write that fails, and tells all who wait and listen', async () => {
    const disk = await open();
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
        `${dir} could not be written, and nothing more is written to it: no space left`,
      ),
    ]);
    part.set('c', '1');
    await expect(disk.saved()).rejects.toMatchObject({ code: 'DQ_DISK' });
    expect(part.batches).toEqual([['a'], ['b']]);
    await disk.close();
    expect(await contents(await open())).toEqual({ a: '1' });
  });
});

describe('a folder that cannot be opened', () => {
  /** Opens it in vain, and gives the message. */
  async function refused(): Promise<string> {
    const error = await open().then(
      () => new Error('it was opened'),
      (reason: unknown) => reason as Error,
    );
    expect(error).toMatchObject({ code: 'DQ_DISK' });
    expect(error.message).toContain(dir);
    return error.message;
  }

  async function files(): Promise<Record<string, string>> {
    const names = (await readdir(dir)).filter((name) => !['LOCK', 'LOG', 'LOG.old'].includes(name));
    const read = names.map(async (name) => [name, (await readFile(join(dir, name))).toString('base64')]);
    return Object.fromEntries(await Promise.all(read)) as Record<string, string>;
  }

  async function refusedAsItIs(): Promise<string> {
    const before = await files();
    const message = await refused();
    expect(await files()).toEqual(before);
    return message;
  }

  const named = async (end: string) =>
    join(
      dir,
      (await readdir(dir)).find((name) => name.endsWith(end))!,
    );

  /** With one batch of over 40 KB after the other, killed. */
  async function fill(): Promise<void> {
    const disk = await open();
    const part = new Texts(disk);
    for (let index = 0; index < 5; index++) {
      part.set(`k${index}`, String(index).repeat(40_000));
      await disk.saved();
    }
    dir = await kill(disk);
  }

  async function change(file: string, at: number): Promise<void> {
    const bytes = await readFile(file);
    bytes[at]! ^= 0x10;
    await writeFile(file, bytes);
  }

  it('is in use for longer than it is waited for, which is said once', async () => {
    await open();
    const { opening, warnings, isSettled } = openWaiting();
    await timeUntil(isSettled);
    expect(clock.now()).toBe(15_000);
    await expect(opening).rejects.toMatchObject({
      code: 'DQ_DISK',
      message: expect.stringContaining(
        `the folder ${dir} is in use, and has been for 15 s: by another process`,
      ),
    });
    expect(warnings).toEqual([`the folder ${dir} is in use: this process waits for it, for 15 s at most`]);
  });

  it('is in use when whoever waits for it is closed', async () => {
    await open();
    const waiting = new Disk(dir, clock, { patience: 15_000, warn: () => undefined });
    const refusal = expect(waiting.open()).rejects.toMatchObject({ code: 'DQ_DISK' });
    let isClosed = false;
    void waiting.close().then(() => (isClosed = true));
    await timeUntil(() => isClosed);
    await refusal;
    expect(clock.now()).toBeLessThanOrEqual(500);
  });

  it.each([['package.json'], ['a', 'b', 'c', 'd', 'e']])('has other files in it: %s …', async (...files) => {
    await mkdir(dir);
    for (const file of files) await writeFile(join(dir, file), 'x');
    const shown = files.length === 1 ? 'package\\.json' : 'a, b, c and 2 more';
    expect(await refusedAsItIs()).toMatch(
      new RegExp(
        `the folder .* has other files in it \\(${shown}\\), and was left as it is: give nest-dq a folder of its own`,
      ),
    );
    expect(await readdir(dir)).toEqual(files);
  });

  it('is of a newer format', async () => {
    await keep({ a: '1' });
    await writeFile(join(dir, 'nest-dq.json'), '{"format":2}\n');
    expect(await refusedAsItIs()).toMatch(
      /has format 2, and was left as it is: this version of nest-dq reads up to format 1/,
    );
  });

  it('has a format that cannot be read', async () => {
    await keep({ a: '1' });
    await writeFile(join(dir, 'nest-dq.json'), '');
    expect(await refusedAsItIs()).toMatch(/is damaged \(nest-dq.json cannot be read\)/);
  });

  it('is a database of somebody else', async () => {
    await keep({ a: '1' });
    await rm(join(dir, 'nest-dq.json'));
    expect(await refusedAsItIs()).toMatch(/holds the database of another program/);
  });

  it('has lost CURRENT, its log, or its manifest', async () => {
    await fill();
    const lose = async (file: string) => {
      await rename(file, `${parent}/aside`);
      const message = await refusedAsItIs();
      await rename(`${parent}/aside`, file);
      return message;
    };
    expect(await lose(join(dir, 'CURRENT'))).toMatch(/is damaged \(CURRENT is missing\)/);
    expect(await lose(await named('.log'))).toMatch(/is damaged \(its log is missing\)/);
    const manifest = join(
      dir,
      (await readdir(dir)).find((name) => name.startsWith('MANIFEST'))!,
    );
    expect(await lose(manifest)).toMatch(/is damaged|cannot be opened/);
    await open();
  });

  it.each([100, 45_000, 100_000])('has a log with another bit at byte %d', async (at) => {
    await fill();
    await change(await named('.log'), at);
    expect(await refusedAsItIs()).toMatch(/is damaged \(\d+\.log is not as it was written\)/);
  });

  it('has a log whose first bytes were overwritten, with many small batches in one block', async () => {
    const disk = await open();
    const part = new Texts(disk);
    for (let index = 0; index < 60; index++) {
      part.set(`k${index}`, 'x'.repeat(200));
      await disk.saved();
    }
    dir = await kill(disk);
    const log = await named('.log');
    await writeFile(log, Buffer.concat([Buffer.from('XY'), (await readFile(log)).subarray(2)]));
    expect(await refusedAsItIs()).toMatch(/is damaged \(\d+\.log is not as it was written\)/);
  });

  it('has a CURRENT with another bit, or half of it', async () => {
    await fill();
    const current = join(dir, 'CURRENT');
    const text = await readFile(current);
    for (let at = 0; at < text.length; at++) {
      await change(current, at);
      expect(await refusedAsItIs()).toMatch(
        /is damaged \((CURRENT is not as it was written|MANIFEST-\d+, which CURRENT names, is missing)\): nothing was repaired/,
      );
      await change(current, at);
    }
    await truncate(current, 8);
    expect(await refusedAsItIs()).toMatch(/is damaged \(CURRENT is not as it was written\)/);
    await writeFile(current, text);
    await open();
  });

  /** With more than LevelDB keeps in one log, killed: its manifest says since then that there is a table. */
  async function fillTwoLogs(): Promise<string> {
    const disk = await open();
    const part = new Texts(disk);
    const manifest = join(
      dir,
      (await readdir(dir)).find((name) => name.startsWith('MANIFEST'))!,
    );
    const { size } = await stat(manifest);
    for (let index = 0; (await stat(manifest)).size === size; index++) {
      part.set(`k${index % 30}`, `${index} `.repeat(200_000));
      await disk.saved();
    }
    await disk.close(); // awaits that the log before is deleted
    return manifest;
  }

  it('has a manifest whose end was lost, with a table that LevelDB would then forget', async () => {
    const manifest = await fillTwoLogs();
    const whole = await readFile(manifest);
    const last = recordsOf(whole).at(-1)!;
    for (let length = last + 1; length < whole.length; length += 5) {
      await writeFile(manifest, whole.subarray(0, length));
      expect(await refusedAsItIs()).toMatch(/is damaged \(MANIFEST-\d+ is not as it was written\)/);
    }
    const longer = Buffer.from(whole);
    longer[last + 5]! ^= 0x01; // its length
    await writeFile(manifest, longer);
    expect(await refusedAsItIs()).toMatch(/is damaged \(MANIFEST-\d+ is not as it was written\)/);
    await writeFile(manifest, whole);
    await open();
  });

  /** With what is in its log written to a table, in which bodies are as long as they are. */
  async function makeTable(): Promise<string> {
    const text = (index: number) => createHash('sha256').update(String(index)).digest('hex');
    await keep(
      Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`k${index}`, text(index).repeat(15)])),
    );
    await (await open()).close();
    return named('.ldb');
  }

  it.each([0, 20, 0.4, 0.9, -1])('has a table that was cut short: %d', async (to) => {
    const table = await makeTable();
    const { size } = await stat(table);
    await truncate(table, to < 0 ? size + to : to < 1 ? Math.floor(size * to) : to);
    const disk = await open().catch((error: Error) => error);
    const reading = disk instanceof Disk ? contents(disk) : Promise.reject(disk);
    await expect(reading).rejects.toMatchObject({
      code: 'DQ_DISK',
      message: expect.stringMatching(/ is damaged \(.*\): nothing was repaired.* put a backup in its place/),
    });
  });

  it('has a table with other bits', async () => {
    const table = await makeTable();
    const { size } = await stat(table);
    for (let at = 20; at < size / 2; at += 97) await change(table, at);
    const disk = await open().catch((error: Error) => error);
    const reading = disk instanceof Disk ? contents(disk) : Promise.reject(disk);
    await expect(reading).rejects.toMatchObject({
      code: 'DQ_DISK',
      message: expect.stringContaining('damaged'),
    });
  });

  it('is no folder, or below what is none', async () => {
    const file = dir;
    await writeFile(file, '');
    expect(await refused()).toBe(
      `DQ_DISK: ${file} is not a folder: expected a folder, or a path where nothing exists yet`,
    );
    dir = join(file, 'in', 'depth');
    expect(await refused()).toBe(
      `DQ_DISK: the folder ${dir} cannot be made: ${file} is not a folder: expected a folder, or a path where nothing exists yet`,
    );
    expect(await readFile(file, 'utf8')).toBe('');
  });

  it('is a link to nothing, or below one', async () => {
    const link = dir;
    await symlink(join(parent, 'away'), link);
    expect(await refused()).toBe(
      `DQ_DISK: the folder ${dir} cannot be made: ${link} is a link to a path that does not exist: expected a folder, or a path where nothing exists yet`,
    );
    dir = join(link, 'below');
    expect(await refused()).toBe(
      `DQ_DISK: the folder ${dir} cannot be made: ${link} is a link to a path that does not exist: expected a folder, or a path where nothing exists yet`,
    );
    expect(await readdir(parent)).toEqual(['data']);
  });

  const onLinux = process.platform === 'linux' ? it : it.skip;

  onLinux('is where none can be made', async () => {
    // As `/proc/nest-dq` is: the folder above exists, and to make one says ENOENT.
    dir = join('/proc', 'nest-dq', 'data');
    expect(await refused()).toMatch(
      /the folder \/proc\/nest-dq\/data cannot be made: E[A-Z]+: .*'\/proc\/nest-dq'; expected a place where/,
    );
  });

  it('is begun by several at once: one has it, and for the others it is in use', async () => {
    dir = join(dir, 'in', 'depth');
    const results = await Promise.allSettled(Array.from({ length: 20 }, () => open()));
    const reasons = results.flatMap((result) =>
      result.status === 'rejected' ? [String(result.reason)] : [],
    );
    expect(reasons).toEqual(Array.from({ length: 19 }, () => expect.stringContaining('is in use')));
    expect((await readdir(dir)).filter((name) => name.startsWith('nest-dq'))).toEqual(['nest-dq.json']);
  });
});

describe('a folder that can be opened all the same', () => {
  it('has hidden files, or is the top of a file system', async () => {
    await mkdir(join(dir, 'lost+found'), { recursive: true });
    await writeFile(join(dir, '.gitkeep'), '');
    await keep({ a: '1' });
    expect(await contents(await open())).toEqual({ a: '1' });
    expect(await readdir(dir)).toEqual(expect.arrayContaining(['.gitkeep', 'lost+found']));
  });

  it('got other files once it was ours', async () => {
    await keep({ a: '1' });
    await writeFile(join(dir, 'notes.txt'), '');
    expect(await contents(await open())).toEqual({ a: '1' });
  });

  it.each([1, 30, 7_000, 39_000])(
    'lost the last %d bytes of its log, as in a write that was cut short',
    async (lost) => {
      const disk = await open();
      const part = new Texts(disk);
      for (const key of ['a', 'b', 'c']) {
        part.set(key, key.repeat(40_000));
        await disk.saved();
      }
      const copy = await kill(disk);
      const log = join(
        copy,
        (await readdir(copy)).find((name) => name.endsWith('.log'))!,
      );
      await truncate(log, (await readFile(log)).length - lost);
      expect(Object.keys(await contents(await open(copy)))).toEqual(['a', 'b']);
    },
  );

  it('has a manifest to which no more could be written, with the log that it counts on', async () => {
    await keep({ a: '1' });
    await (await open()).close();
    const manifest = join(
      dir,
      (await readdir(dir)).find((name) => name.startsWith('MANIFEST'))!,
    );
    const whole = await readFile(manifest);
    for (const more of [whole.subarray(0, 3), whole.subarray(0, 20), Buffer.alloc(100)]) {
      const copy = await mkdtemp(join(parent, 'copy-'));
      await cp(dir, copy, { recursive: true });
      await writeFile(join(copy, basename(manifest)), Buffer.concat([whole, more]));
      expect(await contents(await open(copy))).toEqual({ a: '1' });
    }
  });

  it('was left in its first moments', async () => {
    await mkdir(dir);
    await writeFile(join(dir, 'nest-dq.json'), '{"format":1}\n');
    await writeFile(join(dir, 'MANIFEST-000001'), '');
    await keep({ a: '1' });
    expect(await contents(await open())).toEqual({ a: '1' });
  });
});
