import { randomUUID } from 'node:crypto';
import type { LoggerService } from '@nestjs/common';
import type { Clock, Timer } from 'nest-handlers/time';
import { DqError, factOf, toError, type DqErrorCode } from '../errors.js';
import type { ClusterProducer } from '../producer/cluster-producer.js';
import { readBody, type RowAct } from './body.js';
import type { OutboxRow } from './database.js';
import type { OutboxListener, ResolvedOutboxOptions } from './outbox-options.js';
import { channelOf, statementsOf, type Statements } from './sql.js';

/** How long a relay has a row for itself, in ms. One that was killed gives it back then. */
const LEASE_MS = 30_000;
/** A relay that was slow to claim doesn't begin with rows whose lease may end before it's done with them. */
const BEGINS_WITHIN_MS = 10_000;
/** Pauses of a row, doubling from try to try, in ms. */
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 60_000;
/** The same while servers are away, because then all rows wait for them. */
const LONGEST_OUTAGE_PAUSE_MS = 5_000;
/** Min interval of the same warning. */
const WARN_EVERY_MS = 60_000;
/** Pause before listening again. */
const LISTEN_AGAIN_MS = 1_000;
const LONGEST_ERROR = 1_000;

/** Failures of servers. A row is never set aside because of them. */
const OUTAGES: ReadonlySet<DqErrorCode> = new Set([
  'DQ_TOO_FEW_COPIES',
  'DQ_LEDGER_DOWN',
  'DQ_OTHER_LEDGER',
  'DQ_NO_COPY',
  'DQ_UNCONFIRMED',
  'DQ_CONFLICT',
  'DQ_OVERLOADED',
  'DQ_CLOSED',
]);

interface ClaimedRow {
  readonly id: number;
  readonly body: unknown;
  readonly tries: number;
  /** This try, and earlier ones whose outcome is unknown. */
  readonly openTries: number;
  /** How long ago the first try began whose outcome may be unknown, in ms. */
  readonly triedFor: number;
  /** The job under the key before that try; undefined if not looked up yet. */
  readonly bornBefore: number | undefined;
}

/** The parts of a cluster that a relay uses. */
export interface RelayCluster {
  readonly producer: ClusterProducer;
  readonly clock: Clock;
  readonly logger: Pick<LoggerService, 'warn' | 'error' | 'log'>;
  /** Ledger time in ms. */
  readonly now: () => number;
  /** How long the ledger remembers a job that ended, in ms. */
  readonly doneTtl: number;
}

/**
 * Turns committed rows into jobs. A row goes: claim, look up what is under its key, add unless something newer is there, delete.
 * Killed anywhere in between, the row is claimed again once its lease is over, and what was added before keeps the second add out.
 * Of the rows about one job only the oldest can be claimed, so they're done in order.
 */
export class Relay {
  private readonly statements: Statements;
  private timer: Timer | undefined;
  private listener: OutboxListener | undefined;
  private rounds: Promise<number> | undefined;
  /** Whether rows may have been committed since the running round looked. */
  private again = false;
  private stopped = false;
  private readonly warnedAt = new Map<string, number>();

  constructor(
    private readonly cluster: RelayCluster,
    private readonly options: ResolvedOutboxOptions,
  ) {
    this.statements = statementsOf(options.dialect, options.table);
  }

  /** Idempotent. */
  start(): void {
    if (this.timer || this.stopped) return;
    this.poll(0);
    if (this.options.listen) void this.listen(this.options.listen);
  }

  /** Resolves once the running round is over. Idempotent. */
  async stop(): Promise<void> {
    this.stopped = true;
    this.timer?.cancel();
    await Promise.allSettled([this.rounds, this.listener?.end()]);
  }

  /** Relays what can be claimed now. Resolves with the number of rows that are done. Rejects as the database does. */
  async relay(): Promise<number> {
    let done = 0;
    for (;;) {
      if (this.stopped) return done;
      const { relayed, goOn } = await this.batch();
      done += relayed;
      if (!goOn) return done;
    }
  }

  private poll(delay: number): void {
    this.timer = this.cluster.clock.after(delay, () => {
      void this.wake().then(() => {
        if (!this.stopped) this.poll(this.options.pollEvery);
      });
    });
  }

  /** Never rejects. */
  private async wake(): Promise<void> {
    if (this.rounds) {
      this.again = true;
      await this.rounds.catch(() => 0); // reported by whoever began it
      return;
    }
    do {
      this.again = false;
      this.rounds = this.relay();
      try {
        await this.rounds;
      } catch (error) {
        if (!this.stopped)
          this.warn('database', `the outbox can't be read or written: ${toError(error).message}`);
      } finally {
        this.rounds = undefined;
      }
    } while (this.again && !this.stopped);
  }

  /** `goOn`: there may be more rows, and servers answer. */
  private async batch(): Promise<{ relayed: number; goOn: boolean }> {
    const { clock } = this.cluster;
    const begun = clock.now();
    const claim = randomUUID();
    const rows = await this.claim(claim);
    if (rows.length === 0) return { relayed: 0, goOn: false };
    const acts = new Map(rows.map((row) => [row, readRow(row)]));
    const before = await this.lookUp(claim, rows, acts);
    if (clock.now() - begun > BEGINS_WITHIN_MS) return { relayed: 0, goOn: false }; // claimed again once the lease is over
    const ends = await Promise.all(
      rows.map(async (row) => {
        const failure = await this.carryOut(row, acts.get(row)!, before);
        return { row, failure };
      }),
    );
    const done = ends.filter(({ failure }) => failure === undefined).map(({ row }) => row.id);
    if (done.length > 0) await this.options.run(this.statements.remove(done), claim);
    for (const { row, failure } of ends) if (failure !== undefined) await this.putOff(claim, row, failure);
    const failures = ends.filter(({ failure }) => failure !== undefined);
    const away = failures.some(({ failure }) => OUTAGES.has(failure!.code));
    return { relayed: done.length, goOn: done.length > 0 || !away };
  }

  private async claim(claim: string): Promise<ClaimedRow[]> {
    const { run, batch } = this.options;
    const { take, candidates, mark, taken } = this.statements;
    if (take) return readRows(await run(take(batch, LEASE_MS), claim));
    const ids = (await run(candidates(batch))).map(({ id }) => Number(id));
    if (ids.length === 0) return [];
    await run(mark(ids, LEASE_MS), claim);
    return readRows(await run(taken, claim));
  }

  /**
   * Resolves with the generation of the last add that was under each row's key before its first try. It's in the table before the
   * first try begins, so that the next relay knows what to compare with. A failure is the row's.
   */
  private async lookUp(
    claim: string,
    rows: readonly ClaimedRow[],
    acts: ReadonlyMap<ClaimedRow, RowAct | DqError>,
  ): Promise<ReadonlyMap<number, number | DqError>> {
    const before = new Map<number, number | DqError>();
    const fresh = new Map<number, number>();
    const asking = rows.map(async (row) => {
      const act = acts.get(row)!;
      if (act instanceof DqError || act.act !== 'add') return;
      if (act.own) before.set(row.id, 0);
      else if (row.bornBefore !== undefined) before.set(row.id, row.bornBefore);
      else {
        const { tube, id } = act.job;
        const born = await this.cluster.producer.bornLast(tube, id).catch(toDqError);
        before.set(row.id, born);
        if (typeof born === 'number') fresh.set(row.id, born);
      }
    });
    await Promise.all(asking);
    if (fresh.size > 0) await this.options.run(this.statements.before(fresh), claim);
    return before;
  }

  /** Resolves with the failure, if it failed. */
  private async carryOut(
    row: ClaimedRow,
    act: RowAct | DqError,
    before: ReadonlyMap<number, number | DqError>,
  ): Promise<DqError | undefined> {
    if (act instanceof DqError) return act;
    const { producer } = this.cluster;
    try {
      if (act.act === 'revoke') await producer.revoke(act.ref, { ...act.options, patience: 0 });
      else if (act.act === 'reschedule') await producer.movePlanned(act.move);
      else {
        const after = before.get(row.id)!;
        if (after instanceof DqError) return after;
        const unsure = this.unsure(row, act);
        if (unsure) return (await producer.bornLast(act.job.tube, act.job.id)) > after ? undefined : unsure;
        await producer.addPlanned(act.job, after);
      }
      return undefined;
    } catch (error) {
      return toDqError(error);
    }
  }

  /**
   * Returns an error if the job may have been added, have run and be forgotten since. A job is remembered for `doneTtl` after
   * its end, and ends neither before its time nor before it's added.
   */
  private unsure({ triedFor }: ClaimedRow, { job }: RowAct & { act: 'add' }): DqError | undefined {
    const { doneTtl, now } = this.cluster;
    const remembered = doneTtl - LEASE_MS;
    if (triedFor <= remembered) return undefined;
    if (now() - job.due <= remembered) return undefined;
    const fact = 'a relay was cut off while it added this job, too long ago to know whether it ran';
    return new DqError('DQ_OUTBOX_UNSURE', fact, { indeterminate: true });
  }

  private async putOff(claim: string, { id, tries, openTries }: ClaimedRow, failure: DqError): Promise<void> {
    const { run, attempts, table } = this.options;
    const error = `${failure.code}: ${factOf(failure)}`.slice(0, LONGEST_ERROR);
    const isOutage = OUTAGES.has(failure.code);
    if (!isOutage && (tries >= attempts || failure.code === 'DQ_OUTBOX_UNSURE')) {
      await run(this.statements.setAside(id), error, claim);
      this.cluster.logger.error(`row ${id} of ${table} was set aside: ${error}`);
      return;
    }
    const longest = isOutage ? LONGEST_OUTAGE_PAUSE_MS : LONGEST_PAUSE_MS;
    const pause = Math.min(longest, FIRST_PAUSE_MS * 2 ** Math.min(tries - 1, 20));
    const stillOpen = failure.indeterminate ? openTries : openTries - 1;
    await run(this.statements.later(id, pause, stillOpen), error, claim);
    this.warn(failure.code, `row ${id} of ${table} waits: ${error}`);
  }

  private async listen(connect: NonNullable<ResolvedOutboxOptions['listen']>): Promise<void> {
    if (this.stopped) return;
    let listener: OutboxListener | undefined;
    let over = false;
    const lost = (error?: unknown) => {
      if (over) return;
      over = true;
      this.listener = undefined;
      if (this.stopped) return;
      const why = error === undefined ? 'the connection ended' : toError(error).message;
      this.warn('listen', `the outbox doesn't hear of new rows, and polls: ${why}`);
      void listener?.end().catch((cause: unknown) => this.warn('end', toError(cause).message));
      this.cluster.clock.after(LISTEN_AGAIN_MS, () => void this.listen(connect));
    };
    try {
      listener = await connect();
      listener.on('error', lost);
      listener.on('end', () => lost());
      listener.on('notification', () => void this.wake());
      await listener.connect();
      await listener.query(`LISTEN ${channelOf(this.options.table)}`);
      if (this.stopped) await listener.end();
      else this.listener = listener;
      void this.wake(); // for what was committed before
    } catch (error) {
      lost(error);
    }
  }

  /** Warns of the same kind of trouble once a minute. */
  private warn(kind: string, message: string): void {
    const now = this.cluster.clock.now();
    if (now - (this.warnedAt.get(kind) ?? -Infinity) < WARN_EVERY_MS) return;
    this.warnedAt.set(kind, now);
    this.cluster.logger.warn(message);
  }
}

function readRows(rows: readonly OutboxRow[]): ClaimedRow[] {
  const read = rows.map(
    ({ id, body, tries, open_tries: open, tried_at: triedAt, born_before: born, now }) => ({
      id: Number(id),
      body,
      tries: Number(tries),
      openTries: Number(open),
      triedFor: Number(now) - Number(triedAt),
      bornBefore: born === null || born === undefined ? undefined : Number(born),
    }),
  );
  return read.toSorted((one, other) => one.id - other.id);
}

function readRow({ body }: ClaimedRow): RowAct | DqError {
  try {
    return readBody(body);
  } catch (error) {
    return toDqError(error);
  }
}

function toDqError(error: unknown): DqError {
  if (error instanceof DqError) return error;
  const cause = toError(error);
  return new DqError('DQ_BAD_OPTION', `the row can't be carried out: ${cause.message}`, {
    cause,
    indeterminate: true,
  });
}
