import type { JobRefText, JobView, RevokeOptions } from '../api/job.js';
import { storedTube, withoutPrefix, type StoredTube, type Tube } from '../api/tube.js';
import { formatRef } from '../copies/job-ref.js';
import type { ActTarget } from '../events/events.js';
import type { WaitingJob, WaitingPosition } from '../ledger/waiting/waiting-jobs.js';
import { formatCursor, parseCursor } from '../producer/cursor.js';
import type { ProducerContext } from '../producer/producer-context.js';
import type { DqProducer } from '../producer/producer.js';
import { Act } from './act.js';
import {
  type Bulk,
  type BulkOptions,
  type BulkPage,
  type BulkProgress,
  type Changed,
  checkBulk,
  inBulk,
  moveListed,
  type MoveExample,
  MOVES_AT_ONCE,
  ofOne,
  PAGE,
  someAtOnce,
  targetOf,
  viewListed,
} from './bulk.js';
import { readStart as readSpread, spreadWaiting } from './spread-act.js';
import { checkSpread, type Spread } from './spread.js';
import { checkNewTime, checkWaitingFilter, type NewTime, type WaitingFilter } from './waiting-filter.js';

/** A node takes back the copies of a silent consumer within a minute, so a frozen process is waited for. */
const HELD_LIMIT_MS = 70_000;

type Change = Bulk<WaitingJob, JobView>['change'];
type WaitingAct<Example> = AsyncGenerator<BulkProgress<Example>, void, undefined>;

/** Changes the jobs of a tube for an act, and shows one. */
interface Work<Example> {
  readonly change: Change;
  readonly show: (job: WaitingJob) => Promise<Example>;
}

/**
 * Revokes and moves many waiting jobs. They are read by due time, so a moved job may be seen again after its old place. Its
 * generation shows that it was opened after the act began, and it is then left alone.
 */
export class WaitingActs {
  constructor(
    private readonly context: ProducerContext,
    private readonly producer: DqProducer,
  ) {}

  revokeMany(tube: string | Tube, filter: WaitingFilter, options?: BulkOptions): WaitingAct<JobView> {
    const checked = checkBulk(options);
    const { patience } = checked;
    const revoke = (storedAs: StoredTube): Work<JobView> => ({
      change: (jobs, ended) =>
        someAtOnce(jobs, PAGE, async (job) => {
          const ref = this.refOf(storedAs, job);
          ended(job, await this.revokeForCertain(ref, { confirmed: true, patience }));
        }),
      show: (job) => viewListed(this.context, storedAs, job),
    });
    return this.begin('revokeMany', tube, filter, checked, {}, revoke);
  }

  rescheduleMany(
    tube: string | Tube,
    filter: WaitingFilter,
    when: NewTime,
    options?: BulkOptions,
  ): WaitingAct<MoveExample> {
    const checked = checkBulk(options);
    const stepOf = checkSpread(when);
    if (stepOf) return this.spread('rescheduleMany', tube, filter, checked, { change: when }, stepOf);
    const call = { patience: this.context.patienceOf(checked.patience) };
    const dueOf = checkNewTime(when as Exclude<NewTime, Spread>);
    const move = (storedAs: StoredTube): Work<MoveExample> => {
      const dueNow = (job: WaitingJob) => dueOf(job.due)(this.context.now(storedAs));
      return {
        change: (jobs, ended) =>
          someAtOnce(jobs, MOVES_AT_ONCE, async (job) => {
            const result = await moveListed(this.context, call, storedAs, job, () => dueNow(job));
            ended(job, typeof result !== 'string' ? result : result === 'rescheduled' ? 'done' : 'skipped');
          }),
        show: async (job) => ({
          ...(await viewListed(this.context, storedAs, job)),
          movesTo: new Date(dueNow(job)),
        }),
      };
    };
    return this.begin('rescheduleMany', tube, filter, checked, { change: when }, move);
  }

  /** Moves the overdue jobs of a tube to turns from now on. Otherwise as `rescheduleMany`. */
  spreadOverdue(tube: string | Tube, perMinute: number, options: BulkOptions): WaitingAct<MoveExample> {
    const storedAs = storedTube(tube, this.context.parts.settings.prefix);
    const filter = { dueTo: new Date(Math.ceil(this.context.now(storedAs))) };
    const change = { perMinute };
    return this.spread('resumeGradually', tube, filter, options, { change }, checkSpread(change)!);
  }

  private spread(
    name: 'rescheduleMany' | 'resumeGradually',
    tube: string | Tube,
    filter: WaitingFilter,
    options: BulkOptions,
    more: ActTarget,
    stepOf: (count: number) => number,
  ): WaitingAct<MoveExample> {
    this.context.refuseIfClosed();
    const { events, settings } = this.context.parts;
    const storedAs = storedTube(tube, settings.prefix);
    const checked = checkWaitingFilter(filter);
    const on = { tube: withoutPrefix(storedAs, settings.prefix), filter, ...more };
    const act = new Act(events, name, on, options.by);
    this.context.patienceOf(options.patience); // or it throws
    if (options.cursor !== undefined) readSpread(options.cursor); // or it throws
    return spreadWaiting(this.context, { tube: storedAs, filter: checked, stepOf, options, act });
  }

  private async revokeForCertain(ref: JobRefText, options: RevokeOptions): Promise<Changed> {
    const { clock } = this.context.parts;
    const until = clock.now() + HELD_LIMIT_MS;
    for (;;) {
      try {
        const result = await this.producer.revoke(ref, options);
        return result === 'revoked' ? 'done' : 'skipped';
      } catch (error) {
        const failed = ofOne(error);
        const isHeld = failed.code === 'DQ_UNCONFIRMED' && failed.nodes !== undefined;
        if (!isHeld || clock.now() >= until) return failed;
      }
    }
  }

  private begin<Example>(
    name: 'revokeMany' | 'rescheduleMany',
    tube: string | Tube,
    filter: WaitingFilter,
    { by, cursor, dryRun = false, patience }: BulkOptions,
    more: ActTarget,
    workIn: (storedAs: StoredTube) => Work<Example>,
  ): WaitingAct<Example> {
    this.context.refuseIfClosed();
    const { parts, retries } = this.context;
    const { prefix } = parts.settings;
    const storedAs = storedTube(tube, prefix);
    const { from, to, matches, ...limits } = checkWaitingFilter(filter);
    const act = new Act(parts.events, name, { tube: withoutPrefix(storedAs, prefix), filter, ...more }, by);
    const call = { patience: this.context.patienceOf(patience), repeatable: true };
    const ledger = parts.ledger.tube(storedAs);
    let start = cursor === undefined ? undefined : readStart(cursor, name);

    const read = async (at: string | undefined): Promise<BulkPage<WaitingJob>> => {
      this.context.refuseIfClosed();
      const after = at === undefined ? undefined : readStart(at, name).after;
      const page = { from, limit: PAGE, to, after };
      const { jobs, next } = await retries.run(call, () => parts.waiting.page(storedAs, page));
      // A time that has certainly passed: what is opened from now on has an equal or greater generation.
      start ??= { began: Math.floor(ledger.nowAtLeast()), after: undefined };
      const { began } = start;
      return {
        items: jobs,
        cursor: cursorAt({ began, after }),
        next: next && cursorAt({ began, after: next }),
      };
    };
    const bulk: Bulk<WaitingJob, Example> = {
      read,
      matches: (job) => job.generation < start!.began && matches(job),
      timeOf: ({ due }) => due,
      cursorBehind: ({ due, id }) => cursorAt({ began: start!.began, after: { due, id } }),
      ...workIn(storedAs),
    };
    return inBulk(bulk, { cursor, ...limits }, dryRun ? undefined : act);
  }

  private refOf(tube: StoredTube, job: WaitingJob): JobRefText {
    return formatRef(targetOf(tube, job), this.context.parts.cluster.settings.seal);
  }
}

/** Where a page starts, and when the act began, as ledger time in ms. */
interface Start {
  readonly began: number;
  readonly after: WaitingPosition | undefined;
}

function cursorAt({ began, after }: Start): string {
  return after ? formatCursor(began, after.due, after.id) : formatCursor(began);
}

/** Throws `DQ_BAD_OPTION`. */
function readStart(cursor: string, name: string): Start {
  const values = parseCursor(cursor, `a previous \`${name}\``, ['number'], ['number', 'number', 'string']);
  return { began: values[0], after: values.length === 3 ? { due: values[1], id: values[2] } : undefined };
}
