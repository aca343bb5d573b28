import { DqError, toError } from '../errors.js';
import type { Clock } from 'nest-handlers/time';
import { asDiskError, openDatabase, type Database, type DiskSettings } from './database.js';
import { checkValue, DiskBatch, VALUE } from './entries.js';
import { DEFAULT_MIN_FREE_BYTES, FreeSpace, systemFreeSpace } from './free-space.js';
import { LAST_KEY as TIME } from './log-check.js';

/** Something in memory whose state is stored on disk. */
export interface DiskPart {
  /** Adds everything that has changed since the last call, in its current state. */
  collect(batch: DiskBatch): void;
}

interface Waiting {
  readonly change: number;
  readonly callback: (failure: DqError | undefined) => void;
}

/** Entries and bytes per read. */
const READ_AT_ONCE = 1_000;
const READ_BYTES = 1024 * 1024;
const NO_WAIT: DiskSettings = { patience: 0, warn: () => undefined };
/** A warning is logged if the machine's clock is behind the folder's by more than this. */
const CLOCK_BEHIND_MS = 60_000;

/**
 * A folder that stores what is in memory. Each change is reported by `changed`, and `whenSaved` calls back once it is synced to
 * disk. The changes of one turn, and all that come while the previous batch is being synced, form one batch. A batch captures
 * everything at one moment, so the folder never holds half of a change.
 *
 * After a failed write nothing more is written, and nothing in memory may be exposed: it has changes that a restart won't know.
 */
export class Disk {
  /** Number of the latest change, counted from 1. */
  lastChange = 0;
  failure: DqError | undefined;
  readonly space: FreeSpace;

  private database: Database | undefined;
  private offset = 0;
  private opening: Promise<void> | undefined;
  private readonly closing = new AbortController();
  private savedChange = 0;
  private isScheduled = false;
  private writing: Promise<void> | undefined;
  private isClosed = false;
  private readonly parts: DiskPart[] = [];
  private waiting: Waiting[] = [];
  private readonly failureListeners = new Set<(failure: DqError) => void>();

  /** Touches nothing before `open`. */
  constructor(
    readonly dir: string,
    private readonly clock: Clock,
    private readonly settings: DiskSettings = NO_WAIT,
  ) {
    const { minFree = DEFAULT_MIN_FREE_BYTES, warn, freeOf = systemFreeSpace } = settings;
    this.space = new FreeSpace(dir, clock, minFree, warn, freeOf);
  }

  /** Creates and opens a disk. Rejects with `DQ_DISK`. */
  static async open(dir: string, clock: Clock, settings: DiskSettings = NO_WAIT): Promise<Disk> {
    const disk = new Disk(dir, clock, settings);
    await disk.open();
    return disk;
  }

  /**
   * Opens the folder, or creates it. Only one process at a time can have it open. Idempotent. Rejects with `DQ_DISK` if the
   * folder, which is left as it is, is in use, is damaged, has a newer format, contains other files, or can't be read or written.
   */
  open(): Promise<void> {
    return (this.opening ??= this.begin());
  }

  /**
   * Milliseconds since 1970, with fractions. It starts at the machine's time, or at the latest time in the folder if that is
   * later, and never jumps.
   */
  now(): number {
    return this.clock.now() + this.offset;
  }

  /**
   * Reads all entries whose key has this prefix, in key order. The value starts at `VALUE`. Rejects with `DQ_DISK` if the folder
   * is damaged.
   */
  async read(prefix: string, each: (rest: string, value: Buffer) => void): Promise<void> {
    const iterator = this.checkOpen().iterator({
      gte: prefix,
      lt: `${prefix}\uffff`,
      fillCache: false,
      highWaterMarkBytes: READ_BYTES,
    });
    try {
      for (;;) {
        const entries = await iterator.nextv(READ_AT_ONCE);
        if (entries.length === 0) return;
        for (const [key, value] of entries) {
          checkValue(this.dir, key, value);
          each(key.slice(prefix.length), value);
        }
      }
    } catch (error) {
      throw asDiskError(this.dir, error);
    } finally {
      await iterator.close();
    }
  }

  /** Makes each batch ask this part for its changes. Its stored entries must have been read before. */
  add(part: DiskPart): void {
    this.parts.push(part);
  }

  /** Call it on each change of a part. */
  changed(): void {
    this.lastChange++;
    this.schedule();
  }

  isSaved(change: number): boolean {
    return change <= this.savedChange;
  }

  /** Calls back once changes up to this number are on disk, at once if they are; with a failure if they may never be. */
  whenSaved(change: number, callback: (failure: DqError | undefined) => void): void {
    if (this.failure || this.isSaved(change)) callback(this.failure);
    else this.waiting.push({ change, callback });
  }

  /** Resolves when all changes so far are on disk. Rejects with the failure, `DQ_DISK`. */
  saved(): Promise<void> {
    return new Promise((resolve, reject) =>
      this.whenSaved(this.lastChange, (failure) => (failure ? reject(failure) : resolve())),
    );
  }

  /** Calls back once when a write has failed. Returns a function that stops listening. */
  onFailure(listener: (failure: DqError) => void): () => void {
    this.failureListeners.add(listener);
    return () => void this.failureListeners.delete(listener);
  }

  /** Writes the last changes and releases the folder. Idempotent, also before `open`; never rejects for an already reported failure. */
  async close(): Promise<void> {
    this.closing.abort();
    this.space.stop();
    await this.opening?.catch(() => undefined); // the caller of `open` gets the error
    if (!this.isClosed) {
      while (!this.failure && (this.writing || !this.isSaved(this.lastChange))) {
        await (this.writing ?? this.write());
      }
      this.isClosed = true;
    }
    await this.writing;
    await this.database?.close();
  }

  /** Throws `DQ_DISK` if it isn't open yet. */
  checkOpen(): Database {
    if (!this.database) throw this.notYet();
    return this.database;
  }

  /** The error of a use before it is open. */
  notYet(): DqError {
    const when = 'it opens before the first onModuleInit, so add jobs there or later';
    return new DqError('DQ_DISK', `the folder ${this.dir} is not open yet: ${when}`);
  }

  private async begin(): Promise<void> {
    const { dir, clock } = this;
    const database = await openDatabase(dir, clock, this.settings, this.closing.signal);
    try {
      const stored = await readTime(dir, database);
      const wall = clock.wall();
      if (stored - wall > CLOCK_BEHIND_MS) {
        const behind = Math.round((stored - wall) / 1_000);
        this.settings.warn(
          `the machine's clock is ${behind} s behind the time in the folder ${dir}: jobs follow the folder's time`,
        );
      }
      await this.space.look();
      this.offset = Math.max(wall, stored) - clock.now();
      this.database = database;
    } catch (error) {
      await database.close();
      throw error;
    }
  }

  private schedule(): void {
    if (this.isScheduled || this.writing || this.failure || this.isClosed) return;
    this.isScheduled = true;
    this.clock.soon(() => {
      this.isScheduled = false;
      if (!this.isSaved(this.lastChange)) void this.write();
    });
  }

  private write(): Promise<void> {
    if (this.failure || this.isClosed || this.writing) return Promise.resolve();
    const change = this.lastChange;
    this.writing = this.writeBatch().then(
      () => this.wrote(change),
      (error: unknown) => this.fail(toError(error)),
    );
    return this.writing;
  }

  private async writeBatch(): Promise<void> {
    // Chained, since an array of operations costs ten times as much.
    const operations = this.checkOpen().batch();
    try {
      const batch = new DiskBatch(operations);
      for (const part of this.parts) part.collect(batch);
      batch.putText(TIME, String(Math.ceil(this.now())));
      await operations.write({ sync: true });
      this.space.wrote(batch.bytes);
    } finally {
      await operations.close();
    }
  }

  private wrote(change: number): void {
    this.writing = undefined;
    this.savedChange = change;
    const { waiting } = this;
    this.waiting = [];
    for (const each of waiting) {
      if (each.change <= change) each.callback(undefined);
      else this.waiting.push(each);
    }
    if (!this.isSaved(this.lastChange)) this.schedule();
  }

  private fail(error: Error): void {
    this.writing = undefined;
    const failure = new DqError(
      'DQ_DISK',
      `the folder ${this.dir} could not be written, and nothing more will be written to it: ${error.message}; it has everything that was confirmed: free up space, then restart`,
      { cause: error },
    );
    this.failure = failure;
    for (const { callback } of this.waiting.splice(0)) callback(failure);
    for (const listener of this.failureListeners) listener(failure);
  }
}

async function readTime(dir: string, database: Database): Promise<number> {
  try {
    const value = await database.get(TIME);
    if (value === undefined) return 0;
    checkValue(dir, TIME, value);
    return Number(value.toString('latin1', VALUE));
  } catch (error) {
    throw asDiskError(dir, error);
  }
}
