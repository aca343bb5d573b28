import { randomUUID } from 'node:crypto';
import type { Duration, When } from 'nest-handlers/time';
import type { JobOptions, JobRef, RevokeOptions } from '../api/job.js';
import type { Tube } from '../api/tube.js';
import { DqError, wrongValue } from '../errors.js';
import type { ClusterProducer } from '../producer/cluster-producer.js';
import { dueAfter, dueAt, dueNow, type Due } from '../producer/due.js';
import type { ResolvedJobOptions } from '../api/job-options.js';
import { readBody, writeBody, type RowAct } from './body.js';
import type { OutboxDatabase } from './database.js';
import type { ResolvedOutboxOptions } from './outbox-options.js';
import { statementsOf, type Statements } from './sql.js';

/** Options of a job in the outbox: those of a job, without those for the caller: by then it has gone. */
export interface OutboxJobOptions extends Omit<JobOptions, 'patience' | 'onDuplicate'> {
  /** Effect on a job that waits or runs under the key. @default 'replace' */
  onDuplicate?: 'replace' | 'keep';
}

/** Receipt of an add to the outbox. A `JobRef`: finds the job once it's relayed, also through `outbox.revoke`. */
export interface OutboxReceipt {
  /** Tube name without the prefix. */
  readonly tube: string;
  /** The key as given; without one, a key of the row's own. */
  readonly key: string;
  /** When the job runs. */
  readonly dueAt: Date;
}

/** How the outbox is. */
export interface OutboxState {
  /** Rows that wait to be relayed. */
  readonly waiting: number;
  /** Rows set aside because they can't become jobs. */
  readonly stuck: number;
  /** Age of the oldest waiting row, in ms; 0 if none waits. */
  readonly oldestFor: number;
}

/** A row that was set aside. */
export interface StuckRow {
  /** For `retry` and `discard`. */
  readonly id: number;
  /** The call in the row; undefined if it can't be read. */
  readonly act?: 'add' | 'revoke' | 'reschedule';
  /** Tube name, with the prefix. */
  readonly tube: string;
  /** The key, if the row has one. */
  readonly key?: string;
  /** Number of tries. */
  readonly tries: number;
  /** When the row was written, by the clock of the database. */
  readonly createdAt: Date;
  /** When it was set aside, by the clock of the database. */
  readonly stuckAt: Date;
  /** The error of the last try: a code of docs/errors.md, and what was wrong. */
  readonly error: string;
}

const KEY_PREFIX = 'outbox:';
const LISTED = 100;

/**
 * Writes jobs as rows, in your transaction; a relay turns them into jobs after the commit. The calls are those of `DqProducer`,
 * with the transaction first, and check what those check: so wrong input fails here. They need neither nodes nor Redis.
 */
export class DqOutbox {
  private readonly statements: Statements;

  /** Created by `DqOutboxModule`. @hidden */
  constructor(
    private readonly producer: ClusterProducer,
    private readonly options: ResolvedOutboxOptions,
    private readonly round: () => Promise<number>,
  ) {
    this.statements = statementsOf(options.dialect, options.table);
  }

  /** Adds a job that runs as soon as it's relayed and a consumer is free. Throws what `DqProducer.now` throws for wrong input. */
  now<In = unknown>(
    tx: OutboxDatabase,
    tube: string | Tube<In>,
    payload: NoInfer<In>,
    options?: OutboxJobOptions,
  ): Promise<OutboxReceipt> {
    return this.add(tx, tube, payload, options, () => dueNow);
  }

  /** Adds a job that runs after a delay, counted from this call. Throws what `DqProducer.delay` throws for wrong input. */
  delay<In = unknown>(
    tx: OutboxDatabase,
    tube: string | Tube<In>,
    payload: NoInfer<In>,
    delay: Duration,
    options?: OutboxJobOptions,
  ): Promise<OutboxReceipt> {
    return this.add(tx, tube, payload, options, () => dueAfter(delay));
  }

  /** Adds a job that runs at a given time. Throws what `DqProducer.at` throws for wrong input. */
  at<In = unknown>(
    tx: OutboxDatabase,
    tube: string | Tube<In>,
    payload: NoInfer<In>,
    when: When,
    options?: OutboxJobOptions,
  ): Promise<OutboxReceipt> {
    return this.add(tx, tube, payload, options, ({ allowPast }) => dueAt(when, allowPast));
  }

  /** Revokes a job after the commit, and after the rows about this job that were written before. The result isn't reported. */
  async revoke(tx: OutboxDatabase, ref: JobRef, options?: Omit<RevokeOptions, 'patience'>): Promise<void> {
    const { tube, id, ref: plain } = this.producer.planRevoke(ref, options);
    const { abort = false, confirmed = false } = options ?? {};
    await this.insert(tx, id, tube, { act: 'revoke', ref: plain, options: { abort, confirmed } });
  }

  /** Moves a job after the commit, and after the rows about this job that were written before. The result isn't reported. */
  async reschedule<In = unknown>(
    tx: OutboxDatabase,
    ref: JobRef<In>,
    when: When | { readonly delay: Duration },
    options?: { payload?: NoInfer<In>; allowPast?: boolean },
  ): Promise<void> {
    const { tube, id, ...move } = await this.producer.planMove(ref, when, options);
    await this.insert(tx, id, tube, { act: 'reschedule', move });
  }

  /** Resolves with how many rows wait and since when, by the database's clock. Rejects as the database does. */
  async state(): Promise<OutboxState> {
    const [row] = await this.options.run(this.statements.state);
    const [total, stuck, now] = [Number(row?.total), Number(row?.stuck), Number(row?.now)];
    const oldest = row?.oldest === null ? now : Number(row?.oldest);
    return { waiting: total - stuck, stuck, oldestFor: Math.max(0, now - oldest) };
  }

  /** Resolves with rows that were set aside, the oldest first: at most `limit`, 100 by default. */
  async stuck({ limit = LISTED }: { limit?: number } = {}): Promise<StuckRow[]> {
    const rows = await this.options.run(this.statements.stuck(limit));
    return rows.map((row) => ({
      id: Number(row.id),
      ...partsOf(row.body),
      tube: String(row.tube),
      tries: Number(row.tries),
      createdAt: new Date(Number(row.created_at)),
      stuckAt: new Date(Number(row.stuck_at)),
      error: String(row.error),
    }));
  }

  /**
   * Has rows that were set aside tried again. One whose error is `DQ_OUTBOX_UNSURE` may then run a second time: check first
   * whether its job ran.
   */
  async retry(ids: readonly number[]): Promise<void> {
    if (ids.length > 0) await this.options.run(this.statements.retry(ids));
  }

  /** Deletes rows that were set aside. Later rows about the same job continue. */
  async discard(ids: readonly number[]): Promise<void> {
    if (ids.length > 0) await this.options.run(this.statements.discard(ids));
  }

  /** Relays now what is committed, and resolves with the number of rows. For tests and scripts: the relay does it by itself. */
  relayNow(): Promise<number> {
    return this.round();
  }

  private async add(
    tx: OutboxDatabase,
    tube: string | Tube,
    payload: unknown,
    given: OutboxJobOptions | undefined,
    when: (options: ResolvedJobOptions) => Due,
  ): Promise<OutboxReceipt> {
    if (given !== undefined && (typeof given !== 'object' || given === null))
      throw wrongValue('DQ_BAD_OPTION', 'the options of the job', given, 'an object');
    const own = !given || !('key' in given);
    refuseUseless(given, own);
    const key = own ? KEY_PREFIX + randomUUID() : given.key!;
    const job = await this.producer.plan(tube, payload, { ...given, key }, when);
    await this.insert(tx, job.id, job.tube, { act: 'add', job, own });
    return { tube: typeof tube === 'string' ? tube : tube.name, key, dueAt: new Date(job.due) };
  }

  private async insert(tx: OutboxDatabase, job: string, tube: string, row: RowAct): Promise<void> {
    await this.options.on(tx)(this.statements.insert, job, tube, writeBody(row));
  }
}

/** Refuses options that no caller could get an answer to any more. */
function refuseUseless(given: OutboxJobOptions = {}, own: boolean): void {
  const { patience, onDuplicate } = given as JobOptions;
  if (patience !== undefined)
    throw new DqError(
      'DQ_BAD_OPTION',
      '`patience` is not for an outbox: the relay retries until it succeeds',
    );
  if (onDuplicate === 'reject' || (own && onDuplicate !== undefined))
    throw wrongValue(
      'DQ_BAD_OPTION',
      '`onDuplicate`',
      onDuplicate,
      "'replace' or 'keep', and a `key` as well",
    );
}

function partsOf(body: unknown): Pick<StuckRow, 'act' | 'key'> {
  try {
    const row = readBody(body);
    if (row.act === 'add') return { act: row.act, key: row.job.key };
    const ref: unknown = row.act === 'revoke' ? row.ref : row.move.ref;
    const { key } = ref as { key?: string };
    return { act: row.act, ...(key !== undefined && { key }) };
  } catch {
    return {}; // its error says so
  }
}
