import { createHash } from 'node:crypto';
import { cp, mkdtemp, readFile, rename, stat, truncate, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { contents, folderOfTest, Texts } from '../../spec-support/folder-of-test.js';
import { Disk } from './disk.js';
import { isTableDamaged } from './table-check.js';

const folder = folderOfTest();

/** Stores batches of over 40 KB each, then kills the process. */
const fill = (batches = 5) =>
  folder.storeAndKill(
    Object.fromEntries(
      Array.from({ length: batches }, (_, index) => [`k${index}`, String(index).repeat(40_000)]),
    ),
  );

async function change(file: string, at: number): Promise<void> {
  const bytes = await readFile(file);
  bytes[at]! ^= 0x10;
  await writeFile(file, bytes);
}

describe('a folder is refused as damaged that', () => {
  it('has a format that cannot be read', async () => {
    await folder.store({ a: '1' });
    await writeFile(join(folder.dir, 'nest-dq.json'), '');
    expect(await folder.refusedAsItIs()).toMatch(/is damaged \(nest-dq.json cannot be read\)/);
  });

  it('has lost CURRENT, its log, or its manifest', async () => {
    await fill();
    const lose = async (part: string) => {
      const file = await folder.file(part);
      await rename(file, `${folder.parent}/aside`);
      const message = await folder.refusedAsItIs();
      await rename(`${folder.parent}/aside`, file);
      return message;
    };
    expect(await lose('CURRENT')).toMatch(/is damaged \(CURRENT is missing\)/);
    expect(await lose('.log')).toMatch(/is damaged \(its log is missing\)/);
    expect(await lose('MANIFEST')).toMatch(/is damaged|cannot be opened/);
    await folder.open();
  });

  it('has a log with another bit', async () => {
    await fill();
    await change(await folder.file('.log'), 45_000);
    expect(await folder.refusedAsItIs()).toMatch(/is damaged \(\d+\.log is corrupt\)/);
  });

  it('has a CURRENT with another bit, or half of it', async () => {
    await fill();
    const current = await folder.file('CURRENT');
    const text = await readFile(current);
    for (let at = 0; at < text.length; at++) {
      await change(current, at);
      expect(await folder.refusedAsItIs()).toMatch(
        /is damaged \((CURRENT is corrupt|MANIFEST-\d+, which CURRENT names, is missing)\): nothing was repaired/,
      );
      await change(current, at);
    }
    await truncate(current, 8);
    expect(await folder.refusedAsItIs()).toMatch(/is damaged \(CURRENT is corrupt\)/);
    await writeFile(current, text);
    await folder.open();
  });

  /** With more than LevelDB keeps in one log, killed: its manifest says since then that there is a table. */
  async function fillTwoLogs(): Promise<string> {
    const disk = await folder.open();
    const part = new Texts(disk);
    const manifest = await folder.file('MANIFEST');
    const { size } = await stat(manifest);
    for (let index = 0; (await stat(manifest)).size === size; index++) {
      part.set(`k${index % 30}`, `${index} `.repeat(200_000));
      await disk.saved();
    }
    await disk.close(); // awaits that the log before is deleted
    return manifest;
  }

  /** Where the records of a short manifest begin. */
  function recordsOf(manifest: Buffer): number[] {
    const found: number[] = [];
    for (let at = 0; at < manifest.length; at += 7 + manifest.readUInt16LE(at + 4)) found.push(at);
    return found;
  }

  it('has a manifest whose end was lost, with a table that LevelDB would then forget', async () => {
    const manifest = await fillTwoLogs();
    const whole = await readFile(manifest);
    const last = recordsOf(whole).at(-1)!;
    for (let length = last + 1; length < whole.length; length += 5) {
      await writeFile(manifest, whole.subarray(0, length));
      expect(await folder.refusedAsItIs()).toMatch(/is damaged \(MANIFEST-\d+ is corrupt\)/);
    }
    const longer = Buffer.from(whole);
    longer[last + 5]! ^= 0x01; // its length
    await writeFile(manifest, longer);
    expect(await folder.refusedAsItIs()).toMatch(/is damaged \(MANIFEST-\d+ is corrupt\)/);
    await writeFile(manifest, whole);
    await folder.open();
  });

  /** With what is in its log written to a table, in which bodies are as long as they are. */
  async function makeTable(): Promise<string> {
    const text = (index: number) => createHash('sha256').update(String(index)).digest('hex');
    await folder.store(
      Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`k${index}`, text(index).repeat(15)])),
    );
    await (await folder.open()).close();
    return folder.file('.ldb');
  }

  /** Damage to a table shows at the opening, or when it is read. */
  async function readingIsRefused(): Promise<void> {
    const disk = await folder.open().catch((error: Error) => error);
    const reading = disk instanceof Disk ? contents(disk) : Promise.reject(disk);
    await expect(reading).rejects.toMatchObject({
      code: 'DQ_DISK',
      message: expect.stringMatching(/ is damaged \(.*\): nothing was repaired.* replace it with a backup/),
    });
  }

  it.each([0, 20, 0.4, 0.9, -1])('has a table that was cut short: %d', async (to) => {
    const table = await makeTable();
    const { size } = await stat(table);
    await truncate(table, to < 0 ? size + to : to < 1 ? Math.floor(size * to) : to);
    await readingIsRefused();
  });

  it('has a table with another bit, wherever it is: nothing is lost silently', async () => {
    const text = (index: number) => createHash('sha256').update(String(index)).digest('hex');
    // Texts of which some pack well, so that blocks of both kinds are there.
    const texts = Object.fromEntries(
      Array.from({ length: 3_000 }, (_, index) => [`k${index}`, index % 2 ? text(index) : 'x'.repeat(200)]),
    );
    await folder.storeAtOnce(texts);
    await (await folder.open()).close();
    const table = await folder.file('.ldb');
    const whole = await readFile(table);
    const end = Array.from({ length: 400 }, (_, index) => whole.length - 1 - index);
    const spread = Array.from({ length: 600 }, (_, index) => Math.floor((index * whole.length) / 600));
    const undetected: { at: number; flipped: Buffer }[] = [];
    for (const [index, at] of [...end, ...spread].entries()) {
      const flipped = Buffer.from(whole);
      flipped[at]! ^= 1 << (index % 8);
      if (!isTableDamaged(flipped)) undetected.push({ at, flipped });
    }
    // Zeros that fill the footer up, which nobody reads.
    expect(undetected.every(({ at }) => at >= whole.length - 48)).toBe(true);
    for (const { flipped } of undetected) {
      await writeFile(table, flipped);
      expect(await contents(await folder.open())).toEqual(texts);
      await folder.closeAll();
    }
    await writeFile(table, whole);
    for (const at of [0, 1_000, whole.length >> 1, whole.length - 60, whole.length - 48]) {
      await change(table, at);
      expect(await folder.refusedAsItIs()).toMatch(/is damaged \(\d+\.ldb is corrupt\)/);
      await change(table, at);
    }
    expect(await contents(await folder.open())).toEqual(texts);
  });
});

describe('a folder can be opened that', () => {
  it('has half a table that was being made when the process was killed', async () => {
    await folder.store({ a: '1' });
    await (await folder.open()).close();
    const table = await readFile(await folder.file('.ldb'));
    await writeFile(join(folder.dir, '000999.ldb'), table.subarray(0, table.length >> 1));
    expect(await contents(await folder.open())).toEqual({ a: '1' });
  });

  it.each([1, 39_000])(
    'lost the last %d bytes of its log, as in a write that was cut short',
    async (lost) => {
      await fill(3);
      const log = await folder.file('.log');
      await truncate(log, (await stat(log)).size - lost);
      expect(Object.keys(await contents(await folder.open()))).toEqual(['k0', 'k1']);
    },
  );

  it('has a manifest to which no more could be written, with the log that it counts on', async () => {
    await folder.store({ a: '1' });
    await (await folder.open()).close();
    const manifest = await folder.file('MANIFEST');
    const whole = await readFile(manifest);
    for (const more of [whole.subarray(0, 3), whole.subarray(0, 20), Buffer.alloc(100)]) {
      const copy = await mkdtemp(join(folder.parent, 'copy-'));
      await cp(folder.dir, copy, { recursive: true });
      await writeFile(join(copy, basename(manifest)), Buffer.concat([whole, more]));
      expect(await contents(await folder.open(copy))).toEqual({ a: '1' });
    }
  });
});
