import { DqError, toError } from '../errors.js';
import type { Clock, Duration } from 'nest-handlers/time';
import { damaged, prepareFolder } from './folder.js';
import type { FreeSpaceOf } from './free-space.js';

/** The part of ClassicLevel that is used here, with types of its own, so that the library's types compile without that optional peer. */
export interface Database {
  /** Resolves with undefined if there is no such entry. */
  get(key: string): Promise<Buffer | undefined>;
  iterator(range: { gte: string; lt: string; fillCache: boolean; highWaterMarkBytes: number }): Entries;
  batch(): Operations;
  close(): Promise<void>;
}

export interface Entries {
  /** The next entries, at most `size`; none at the end. */
  nextv(size: number): Promise<[key: string, value: Buffer][]>;
  close(): Promise<void>;
}

/** An atomic batch of changes. */
export interface Operations {
  put(key: string, value: Buffer): unknown;
  del(key: string): unknown;
  write(options: { sync: boolean }): Promise<void>;
  close(): Promise<void>;
}

export interface DiskSettings {
  /** How long to retry while another process has the folder, in ms; 0 doesn't retry. */
  readonly patience: number;
  /** Receives warnings for the operator, one sentence each. */
  readonly warn: (message: string) => void;
  /** Minimum free space, in bytes. Below it no more jobs are accepted; 0 disables the check. @default 64 MiB */
  readonly minFree?: number;
  /** How free space is determined. @default asks the system */
  readonly freeOf?: FreeSpaceOf;
}

/** Longer than a draining process takes by default. */
export const DEFAULT_PATIENCE: Duration = '15s';

/** Write buffer. Recent changes, which are likely to be deleted soon, stay in one log and in memory. */
const WRITE_BUFFER_BYTES = 16 * 1024 * 1024;
/** Pause between attempts. Each reads the folder's log, of up to `WRITE_BUFFER`. */
const BETWEEN_TRIES_MS = 500;

/**
 * `givenUp` ends the waiting at the next attempt. Rejects with `DQ_CONFIG` if the package is missing, without creating the
 * folder, and with `DQ_DISK`.
 */
export async function openDatabase(
  dir: string,
  clock: Clock,
  { patience, warn }: DiskSettings,
  givenUp: AbortSignal,
): Promise<Database> {
  const open = await loadClassicLevel();
  const start = clock.now();
  const end = start + patience;
  const intact = new Set<string>();
  for (let isTold = false; ; isTold = true) {
    try {
      await prepareFolder(dir, intact);
      return await open(dir);
    } catch (error) {
      if (!isLocked(error)) throw asDiskError(dir, error);
      if (clock.now() >= end || givenUp.aborted) throw inUse(dir, clock.now() - start, error);
    }
    if (!isTold) {
      warn(`the folder ${dir} is in use: waiting for it for at most ${patience / 1_000} s`);
    }
    await pause(clock, Math.min(BETWEEN_TRIES_MS, end - clock.now()));
  }
}

/** Loads the optional peer, which is native: only an application with a folder needs it. */
async function loadClassicLevel(): Promise<(dir: string) => Promise<Database>> {
  try {
    const { ClassicLevel } = await import('classic-level');
    return async (dir) => {
      const database = new ClassicLevel<string, Buffer>(dir, {
        keyEncoding: 'utf8',
        valueEncoding: 'buffer',
        writeBufferSize: WRITE_BUFFER_BYTES,
      });
      await database.open();
      return database;
    };
  } catch (thrown) {
    const cause = toError(thrown);
    const needs = 'storing jobs in a folder needs the package classic-level, which cannot be loaded';
    throw new DqError('DQ_CONFIG', `${needs} (${cause.message}): npm install classic-level@3`, { cause });
  }
}

function pause(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => clock.after(ms, resolve));
}

/** `waited` is in ms. */
function inUse(dir: string, waited: number, cause: unknown): DqError {
  const long = waited >= 1_000 ? `, and has been for ${Math.round(waited / 1_000)} s` : '';
  return new DqError(
    'DQ_DISK',
    `the folder ${dir} is in use${long}: by another process, another cluster, or an application of this process that was not closed or did not start; each needs its own folder`,
    { cause },
  );
}

/** Turns an error of LevelDB into `DQ_DISK`, in words for the operator. */
export function asDiskError(dir: string, thrown: unknown): DqError {
  if (thrown instanceof DqError) return thrown;
  const { message, cause } = toError(thrown);
  const why = cause === undefined ? message : toError(cause).message;
  if (hasCode(thrown, 'LEVEL_CORRUPTION') || isTableCutShort(why)) return damaged(dir, why, thrown);
  return new DqError('DQ_DISK', `the folder ${dir} cannot be opened: ${why}`, { cause: thrown });
}

function isLocked(thrown: unknown): boolean {
  return !(thrown instanceof DqError) && hasCode(thrown, 'LEVEL_LOCKED');
}

/** LevelDB's error is the cause of one saying that the database isn't open. */
function hasCode(thrown: unknown, code: string): boolean {
  const error = toError(thrown) as Error & { code?: unknown };
  return error.code === code || (error.cause !== undefined && hasCode(error.cause, code));
}

/** LevelDB maps its tables, and fails with this when it reads past the end of one. */
function isTableCutShort(why: string): boolean {
  return /\.(ldb|sst): Invalid argument/.test(why);
}
