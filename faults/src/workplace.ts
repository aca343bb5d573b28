import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from 'test-servers';
import { until } from './waiting.js';

export interface LabSettings {
  readonly name: string;
  /** Number of jobs; in an experiment with streams, of messages. */
  readonly jobs: number;
  /** Short leases, short outages: for `npm run test:all`. */
  readonly small: boolean;
  /** Uses Confluent's client in the consumers of an experiment with streams. @default false */
  readonly confluent?: boolean;
  /** Aborts when the user does. */
  readonly signal: AbortSignal;
}

/** A new folder for all logs of an experiment. */
export function newFolder({ name }: LabSettings): Promise<string> {
  return mkdtemp(join(tmpdir(), `faults-${name}-`));
}

/** Base of all labs: a folder for logs, waits, and things that end with the experiment. */
export abstract class Workplace {
  readonly jobs: number;
  readonly small: boolean;
  readonly signal: AbortSignal;
  /** Calls that end what was started. They are made in reverse order. */
  protected readonly closing: (() => unknown)[] = [];

  protected constructor(
    { jobs, small, signal }: LabSettings,
    /** Where all logs are. */
    readonly folder: string,
  ) {
    this.jobs = jobs;
    this.small = small;
    this.signal = signal;
  }

  /** Chooses by the version that runs. */
  pick<T>(small: T, full: T): T {
    return this.small ? small : full;
  }

  /** It will be stopped when the experiment is over. */
  async owned<T extends { stop(): unknown }>(starting: Promise<T> | T): Promise<T> {
    const thing = await starting;
    this.closing.push(() => thing.stop());
    return thing;
  }

  /** Only for the timetable of an experiment. Never wait for a result in this way. */
  until(instant: number): Promise<void> {
    return until(instant, this.signal);
  }

  /** Reads what is new in all logs before each check. Rejects after `limit` ms. */
  eventually(what: string, condition: () => boolean | Promise<boolean>, limit = this.pick(60_000, 180_000)) {
    const look = () => {
      this.readOn();
      return condition();
    };
    return eventually(what, look, limit, this.signal);
  }

  /** Ends all processes. With `keep`, the logs stay in `folder`. */
  async close(keep: boolean): Promise<void> {
    for (const close of this.closing.splice(0).reverse()) await close();
    if (!keep) await rm(this.folder, { recursive: true, force: true });
  }

  protected abstract readOn(): void;
}
