import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, truncate, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { archiveOf, makeArchive, readingFlags } from './kafka-archive.js';
import { ensureKafka } from './kafka-program.js';
import { ServerProcess } from './server-process.js';

let folder: string;
let archive: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kafka-archive-spec-'));
  archive = join(folder, 'kafka');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** As a broker does that ends in order. */
const write = async (flags: readonly string[]) => {
  const part = flags.at(-1)!.replace('-XX:ArchiveClassesAtExit=', '');
  await writeFile(part, 'classes');
};
const end = async () => {};

describe('the archive of the classes of a broker', () => {
  it('is made once, and read then', async () => {
    await expect(readingFlags(archive)).resolves.toEqual(['-Xshare:auto']);
    await makeArchive(archive, write, end);
    await makeArchive(archive, () => Promise.reject(new Error('it is there')), end);
    await expect(readingFlags(archive)).resolves.toContain(`-XX:SharedArchiveFile=${archive}-7.jsa`);
    await expect(readdir(folder)).resolves.toEqual(['kafka-7.jsa']);
  });

  it('may be made by two at once', async () => {
    await Promise.all([makeArchive(archive, write, end), makeArchive(archive, write, end)]);
    await expect(readdir(folder)).resolves.toEqual(['kafka-7.jsa']);
  });

  it('leaves nothing where it could not be made', async () => {
    const failing = () => Promise.reject(new Error('it did not end'));
    await expect(makeArchive(archive, write, failing)).rejects.toThrow('it did not end');
    await expect(makeArchive(archive, async () => {}, end)).rejects.toThrow('ENOENT');
    await expect(readdir(folder)).resolves.toEqual([]);
  });

  it('removes what a killed process left, and leaves alone what may be at work', async () => {
    const [old, young] = ['old', 'young'].map((name) => `${archive}.part-${name}`) as [string, string];
    for (const part of [old, young]) await writeFile(part, '');
    const hourAgo = Date.now() / 1_000 - 3_600;
    await utimes(old, hourAgo, hourAgo);
    await makeArchive(archive, write, end);
    expect([old, young].map((part) => existsSync(part))).toEqual([false, true]);
  });

  it('is created again where it is cut off', async () => {
    await makeArchive(archive, write, end);
    await truncate(`${archive}-7.jsa`, 3);
    await expect(readingFlags(archive)).resolves.toEqual(['-Xshare:auto']);
    await makeArchive(archive, write, end);
    await expect(readFile(`${archive}-7.jsa`, 'utf8')).resolves.toBe('classes');
  });

  it('does no harm where it is none', async () => {
    await makeArchive(archive, write, end);
    const { java } = await ensureKafka();
    const flags = ['-XX:+UnlockDiagnosticVMOptions', ...(await readingFlags(archive))];
    const process = await ServerProcess.spawn(java, [...flags, '-version'], folder);
    await expect(process.exited).resolves.toMatchObject({ code: 0 });
  });

  it('is one for each Java', async () => {
    const program = await ensureKafka();
    const other = await archiveOf({ ...program, java: process.execPath });
    expect(other).not.toBe(await archiveOf(program));
    expect(other).toMatch(/^.*\/kafka-4\.2\.2-java-[0-9a-f]{12}$/);
  });
});
