import { cp, mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect } from '@jest/globals';
import { Disk, type DiskPart } from '../src/disk/disk.js';
import { VALUE, type DiskBatch } from '../src/disk/entries.js';
import { VirtualClock } from 'nest-handlers/testing';

/** A part of a disk that stores texts by key. */
export class Texts implements DiskPart {
  private readonly changed = new Map<string, string | undefined>();
  /** The entries of each batch, in order. */
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

/** The texts that `Texts` has stored on a disk. */
export async function contents(disk: Disk): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  await disk.read('text ', (key, value) => (found[key] = value.toString('utf8', VALUE)));
  return found;
}

/** A path for the folder of disks. Nothing exists there yet. */
export class FolderOfTest {
  parent!: string;
  dir!: string;
  clock!: VirtualClock;
  /** The warnings of `open`. */
  warnings: string[] = [];
  private opened: Disk[] = [];

  async begin(): Promise<void> {
    this.parent = await mkdtemp(join(tmpdir(), 'nest-dq-disk-'));
    this.dir = join(this.parent, 'data');
    this.clock = new VirtualClock();
    this.warnings = [];
  }

  /** Closes what was opened. */
  async closeAll(): Promise<void> {
    for (const disk of this.opened.splice(0)) await disk.close();
  }

  async end(): Promise<void> {
    await this.closeAll();
    await rm(this.parent, { recursive: true });
  }

  async open(dir = this.dir): Promise<Disk> {
    const warn = (message: string) => void this.warnings.push(message);
    const disk = await Disk.open(dir, this.clock, { patience: 0, warn });
    this.opened.push(disk);
    return disk;
  }

  /** Writes each text in a batch of its own. */
  private async write(disk: Disk, texts: Record<string, string>): Promise<void> {
    const part = new Texts(disk);
    for (const [key, text] of Object.entries(texts)) {
      part.set(key, text);
      await disk.saved();
    }
  }

  /** Writes the texts, and closes the disk as a process does that ends. */
  async store(texts: Record<string, string>): Promise<void> {
    const disk = await this.open();
    await this.write(disk, texts);
    await disk.close();
  }

  /** The same, by one batch. */
  async storeAtOnce(texts: Record<string, string>): Promise<void> {
    const disk = await this.open();
    const part = new Texts(disk);
    for (const [key, text] of Object.entries(texts)) part.set(key, text);
    await disk.saved();
    await disk.close();
  }

  /** Writes the texts, and leaves the folder as a process does that is killed. */
  async storeAndKill(texts: Record<string, string>): Promise<void> {
    const disk = await this.open();
    await this.write(disk, texts);
    this.dir = await this.copyOf(disk);
  }

  /** A copy of the folder as a kill would leave it now. LevelDB has written no table, so all data is in its log. */
  async copyOf(disk: Disk): Promise<string> {
    const copy = join(this.parent, 'copy');
    await cp(disk.dir, copy, { recursive: true });
    return copy;
  }

  /** The path of the file whose name has this part. */
  async file(part: string): Promise<string> {
    const name = (await readdir(this.dir)).find((each) => each.includes(part))!;
    return join(this.dir, name);
  }

  /** Expects that the folder cannot be opened. Resolves with the message of the error. */
  async refused(): Promise<string> {
    const error = await this.open().then(
      () => new Error('the folder was opened'),
      (reason: unknown) => reason as Error,
    );
    expect(error).toMatchObject({ code: 'DQ_DISK' });
    expect(error.message).toContain(this.dir);
    return error.message;
  }

  /** The same. Also expects that its files did not change. */
  async refusedAsItIs(): Promise<string> {
    const before = await this.files();
    const message = await this.refused();
    expect(await this.files()).toEqual(before);
    return message;
  }

  private async files(): Promise<Record<string, string>> {
    const names = (await readdir(this.dir)).filter((name) => !['LOCK', 'LOG', 'LOG.old'].includes(name));
    const read = names.map(async (name) => [name, await readFile(join(this.dir, name), 'base64')]);
    return Object.fromEntries(await Promise.all(read)) as Record<string, string>;
  }
}

/** Gives each test of a file a folder of its own, which is removed after it. */
export function folderOfTest(): FolderOfTest {
  const folder = new FolderOfTest();
  beforeEach(() => folder.begin());
  afterEach(() => folder.end());
  return folder;
}
