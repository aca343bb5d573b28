import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ClassicLevel } from 'classic-level';
import { VirtualClock } from 'nest-handlers/testing';
import { Disk } from './disk.js';
import { allocate, VALUE } from './entries.js';
import { isDamaged } from './log-check.js';

const BLOCK = 32 * 1024;
/** Bytes at the end of a block that hold no header: LevelDB zero-fills them and never reads them. */
const TRAILER = 6;

interface WrittenLog {
  readonly bytes: Buffer;
  /** Where each batch ends. */
  readonly ends: number[];
  /** Where the last one begins. */
  readonly last: number;
}

let parent: string;

beforeAll(async () => {
  parent = await mkdtemp(join(tmpdir(), 'nest-dq-log-'));
});

afterAll(() => rm(parent, { recursive: true }));

async function logOf(dir: string): Promise<Buffer> {
  const name = (await readdir(dir)).find((file) => file.endsWith('.log'))!;
  return readFile(join(dir, name));
}

/** A log as a disk writes it, with a batch for each of these values. */
async function write(values: readonly Buffer[]): Promise<WrittenLog> {
  const dir = await mkdtemp(join(parent, 'disk-'));
  const disk = await Disk.open(dir, new VirtualClock());
  let next: Buffer;
  disk.add({
    collect: (batch) => {
      const value = allocate(next.length);
      next.copy(value, VALUE);
      batch.put('value', value);
    },
  });
  const ends: number[] = [];
  let bytes: Buffer = Buffer.alloc(0);
  for (next of values) {
    disk.changed();
    await disk.saved();
    bytes = await logOf(dir);
    ends.push(bytes.length);
  }
  await disk.close();
  return { bytes, ends, last: ends.at(-2) ?? 0 };
}

/** Bytes of which many are 1 and 2, as the types of records are. */
function value(length: number): Buffer {
  return Buffer.from(Array.from({ length }, (_, index) => (index * index * 7 + length) % 5));
}

const values = (...lengths: number[]) => lengths.map(value);

/** A copy with `count` bytes changed from `at` on, in a buffer of its own. */
function changed({ bytes }: WrittenLog, at: number, by: (byte: number) => number, count = 1): Buffer {
  const copy = Buffer.from(bytes);
  for (let index = at; index < at + count; index++) copy[index] = by(copy[index]!);
  return copy;
}

const zero = () => 0;

/** Every byte where something begins or ends, and some between. */
function places({ bytes, ends }: WrittenLog): number[] {
  const edges = [0, ...ends];
  for (let block = BLOCK; block < bytes.length; block += BLOCK) edges.push(block);
  const near = edges.flatMap((edge) => Array.from({ length: 20 }, (_, index) => edge - 10 + index));
  for (let at = 0; at < bytes.length; at += 3_989) near.push(at);
  return [...new Set(near)].filter((at) => at >= 0 && at < bytes.length);
}

const isTrailer = (at: number) => at % BLOCK >= BLOCK - TRAILER;

const LOGS: [string, Buffer[]][] = [
  ['of one block', values(...Array.from({ length: 20 }, () => 200))],
  ['of two', values(10_000, 300, 15_000, 20, 9_000, 1_000, 1)],
  ['of batches longer than a block', values(100, 70_000, 10, 33_000, 50_000, 5_000)],
  ['that ends with such a batch', values(100, 30_000, 200, 90_000)],
  // The header of a batch is 12 bytes, and what is before a value and behind it takes 43.
  ...Array.from({ length: 9 }, (_, index): [string, Buffer[]] => [
    `whose block has ${8 - index} bytes or so behind a batch`,
    values(BLOCK - 7 - 12 - 43 - 8 + index, 50, 40_000, 50),
  ]),
];

describe.each(LOGS)('a log %s', (_, contents) => {
  let log: WrittenLog;

  beforeAll(async () => {
    log = await write(contents);
  });

  it('is whole', () => {
    expect(isDamaged(log.bytes)).toBe(false);
  });

  it('is not damaged where a crash cut it short', () => {
    expect(places(log).filter((length) => isDamaged(log.bytes.subarray(0, length)))).toEqual([]);
  });

  it('is not damaged where the rest of its last batch, or what follows it, is full of zeros', () => {
    const cuts = places(log).filter((at) => at >= log.last);
    const padded = [0, 1, 4_096, BLOCK].flatMap((more) =>
      cuts.filter((cut) =>
        isDamaged(Buffer.concat([log.bytes.subarray(0, cut), Buffer.alloc(log.bytes.length - cut + more)])),
      ),
    );
    expect(padded).toEqual([]);
  });

  it('is not damaged where any page of its last batch was not written', () => {
    const pages: number[] = [];
    for (const size of [512, 4_096]) {
      for (let at = Math.floor(log.last / size) * size; at < log.bytes.length; at += size) {
        const from = Math.max(at, log.last);
        const hole = changed(log, from, zero, Math.min(at + size, log.bytes.length) - from);
        if (isDamaged(hole)) pages.push(at);
      }
    }
    expect(pages).toEqual([]);
  });

  it('is damaged where any bit before its last batch is another', () => {
    const missed = [0x01, 0x80].flatMap((bit) =>
      places(log)
        .filter((at) => at < log.last && !isTrailer(at))
        .filter((at) => !isDamaged(changed(log, at, (byte) => byte ^ bit))),
    );
    expect(missed).toEqual([]);
  });

  it.each([2, 20])('is damaged where %d bytes before its last batch were overwritten', (count) => {
    const missed = [zero, () => 0x58].flatMap((by) =>
      places(log)
        .filter((at) => at + count <= log.last && !isTrailer(at + count - 1))
        .filter((at) => !changed(log, at, by, count).equals(log.bytes))
        .filter((at) => !isDamaged(changed(log, at, by, count))),
    );
    expect(missed).toEqual([]);
  });
});

describe('a log', () => {
  it('is not damaged at any length that a crash may leave', async () => {
    const { bytes } = await write(values(5_000, 200, 26_000, 300, 2_000));
    const found = Array.from(bytes.keys()).filter((length) => isDamaged(bytes.subarray(0, length)));
    expect(found).toEqual([]);
  });

  it('is damaged where all was lost of it but its last batch', async () => {
    const log = await write(LOGS[0]![1]);
    expect(isDamaged(changed(log, 0, zero, log.last))).toBe(true);
  });

  it('is damaged where only the rest of a batch follows one that had ended', async () => {
    const log = await write(values(1_000, 50_000));
    expect(isDamaged(changed(log, log.last - 20, zero, 40))).toBe(true);
  });

  it('is damaged where only the rests of two batches are left', async () => {
    const log = await write(values(70_000, 70_000));
    const first = changed(log, 0, zero, 20);
    first.fill(0, log.last - 20, log.last + 20);
    expect(isDamaged(first)).toBe(true);
  });

  it('is not damaged where the batch that a crash cut short has a log of another program in it', async () => {
    const dir = await mkdtemp(join(parent, 'other-'));
    const other = new ClassicLevel(dir);
    await other.put('before', 'x'.repeat(BLOCK - 2_000));
    for (const key of ['a', 'b', 'c']) await other.put(key, key.repeat(1_000));
    const foreign = (await logOf(dir)).subarray(BLOCK - 3_000); // whole records, and the first of several
    await other.close();
    const log = await write([value(100), Buffer.concat([value(50), foreign, value(50)])]);
    const cuts = Array.from({ length: log.bytes.length - log.last }, (_, index) => log.last + index);
    expect(cuts.filter((cut) => isDamaged(log.bytes.subarray(0, cut)))).toEqual([]);
  });
});
