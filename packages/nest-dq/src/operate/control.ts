import type { Duration, When } from 'nest-handlers/time';
import type { JobRef, JobView, PatienceOptions, RescheduleResult } from '../api/job.js';
import type { DeadLetter } from '../api/dead-letter.js';
import type { Tube } from '../api/tube.js';
import type { Presence } from '../fleet/presence.js';
import { DqError } from '../errors.js';
import { checkObject } from '../producer/call-options.js';
import type { ProducerContext } from '../producer/producer-context.js';
import type { DqProducer } from '../producer/producer.js';
import { Act, actOnJob, type ActOptions } from './act.js';
import { type BulkOptions, type BulkProgress, checkBulk, type MoveExample } from './bulk.js';
import { LetterActs } from './letter-acts.js';
import type { DeadLetterFilter } from './letter-filter.js';
import { checkPerMinute } from './spread.js';
import { checkNode, repair, type RepairExample, type RepairOptions } from './repair.js';
import { type ChangedLimits, type LimitSettings, TubeLimitActs } from './tube-limits.js';
import { TubePauses, type PausedTube, type ResumedTube } from './tube-pauses.js';
import { WaitingActs } from './waiting-acts.js';
import type { NewTime, WaitingFilter } from './waiting-filter.js';

/** Controls a cluster, by the rules that apply to every job. Each act is emitted as the event `operated`. Inject it. */
export abstract class DqControl {
  /**
   * Moves a job that waits, possibly for a retry, to now. Its attempts are reset; its id, receipt and `ref` stay valid. A job
   * that runs, has ended or is dead isn't changed, and that is the result. Rejects as `DqProducer.reschedule` does.
   */
  abstract runNow(ref: JobRef, options?: PatienceOptions & ActOptions): Promise<RescheduleResult>;

  /**
   * Revives the dead letters of a tube that match the filter, now or each after a delay; newest first. A letter whose copies are
   * all unreachable counts as failed; one that somebody else revived or discarded, or whose key has a newer job, counts as
   * skipped. A letter that dies, or dies again, after the act began stays dead.
   *
   * Nothing happens until it is iterated. It yields its progress before it changes anything, and after each page of 128 letters;
   * nothing is in flight then, so a consumer that breaks ends the act. If servers are away for longer than `patience`, it throws
   * with `progress`, and the same call with that `cursor` continues. If you store the cursor of each progress, a process that
   * dies can continue too: what was changed after that place isn't changed again. Throws `DQ_BAD_OPTION`, `DQ_BAD_TIME`,
   * `DQ_BAD_DURATION`, `DQ_BAD_TUBE` and `DQ_CLOSED`; the iteration throws `DQ_LEDGER_DOWN`, `DQ_TOO_FEW_COPIES` and `DQ_CLOSED`.
   */
  abstract reviveMany(
    tube: string | Tube,
    filter: DeadLetterFilter,
    options?: BulkOptions & { delay?: Duration },
  ): AsyncIterable<BulkProgress<DeadLetter>>;

  /**
   * Discards the dead letters of a tube that match the filter for good, and deletes their copies; newest first. Progress and
   * errors are as for `reviveMany`.
   */
  abstract discardMany(
    tube: string | Tube,
    filter: DeadLetterFilter,
    options?: BulkOptions,
  ): AsyncIterable<BulkProgress<DeadLetter>>;

  /**
   * Drains a node: it gets no new copies, in all processes within 5 s, until `undrainNode`. Its copies stay, and their jobs run.
   * Only an add that couldn't reach `minWritten` otherwise still uses it. Resolves with true if it wasn't drained before. Rejects
   * with `DQ_BAD_OPTION` if the cluster has no such node; `DQ_LEDGER_DOWN`, `DQ_CLOSED`.
   * @param endpoint As in the option `beanstalks`, which should be the same in all processes.
   */
  abstract drainNode(endpoint: string, options?: ActOptions): Promise<boolean>;

  /** Lets a node get copies again, in all processes within 5 s. Resolves with true if it was drained. Rejects as `drainNode` does. */
  abstract undrainNode(endpoint: string, options?: ActOptions): Promise<boolean>;

  /**
   * Revokes the waiting jobs of a tube that match the filter, by due time, and deletes their copies. A job that has started or
   * ended counts as skipped; nothing follows an ongoing run. If a frozen process holds copies, it waits up to 70 s for them; a
   * job whose copy is held for longer counts as failed with `DQ_UNCONFIRMED`, although it is revoked. Only listed jobs match: on
   * a cluster some may be missing, and `DQ_CONFIG` is thrown if the option `index` of this process is false. Progress and other
   * errors are as for `reviveMany`.
   */
  abstract revokeMany(
    tube: string | Tube,
    filter: WaitingFilter,
    options?: BulkOptions,
  ): AsyncIterable<BulkProgress<JobView>>;

  /**
   * Moves the waiting jobs of a tube that match the filter: to a time, to a delay from now, or by `{ later: '1h' }` or `{
   * earlier: '1h' }`, where a time in the past means now. Attempts are reset. A job that others moved, that runs or that has
   * ended counts as skipped; none is moved twice, even if you repeat the call with a `cursor`. Otherwise as `revokeMany`. The
   * iteration may also throw `DQ_PAST_TIME`.
   *
   * `{ spread: '30m' }` and `{ perMinute: 600 }` distribute them evenly, in the order of their due times, from the first due
   * time, or from now if that is later. None gets earlier: a job that is due after its turn keeps its time and its attempts, and
   * counts as done. It counts the jobs before it begins; jobs added later aren't part of it. Repeated with a `cursor`, it gives
   * each job the turn it would have had; if the next turn has passed by then, the rest begins now, at the same distances.
   */
  abstract rescheduleMany(
    tube: string | Tube,
    filter: WaitingFilter,
    when: NewTime,
    options?: BulkOptions,
  ): AsyncIterable<BulkProgress<MoveExample>>;

  /**
   * Grants no more runs of the tube, in any process, until somebody resumes it, or until a given time. Granted runs continue, as
   * do adds, moves and revokes. Due jobs wait, and paused time makes no job stale. If the tube is already paused, sets a new end.
   * Resolves with the pause, and with `unknown: true` if nobody seems to know the tube: no process consumes it, and it has no
   * job. Asking the nodes for that takes up to a second if one of them hangs. Rejects with `DQ_PAST_TIME` if `until` is in the
   * past by the ledger's clock; nothing changes. Also `DQ_BAD_TIME`, `DQ_TOO_FAR`, `DQ_BAD_TUBE`, `DQ_BAD_OPTION`,
   * `DQ_BAD_DURATION`, `DQ_LEDGER_DOWN`, `DQ_CLOSED`.
   */
  abstract pause(
    tube: string | Tube,
    options?: PatienceOptions & ActOptions & { until?: When },
  ): Promise<PausedTube>;

  /**
   * Ends the pause of a tube. Processes learn of it within a second, and then run what is due. Resolves with the `ended` pause,
   * if there was one; otherwise with `unknown` as for `pause`. Rejects with `DQ_BAD_TUBE`, `DQ_BAD_OPTION`, `DQ_BAD_DURATION`,
   * `DQ_LEDGER_DOWN`, `DQ_CLOSED`.
   */
  abstract resume(tube: string | Tube, options?: PatienceOptions & ActOptions): Promise<ResumedTube>;

  /**
   * Changes a tube's concurrency and limits in all processes, within 5 s, until `resetLimits` or a given time. What is absent is as
   * the handlers have it; an earlier change is replaced as a whole. Granted runs continue, and those that weren't counted before
   * aren't counted now. Resolves with the change, and with `unknown: true` as for `pause`. Lost with Redis' data; on an
   * embedded node it ends with the process. Rejects with `DQ_PAST_TIME`, `DQ_BAD_TIME`, `DQ_TOO_FAR`, `DQ_BAD_TUBE`, `DQ_BAD_OPTION`,
   * `DQ_BAD_DURATION`, `DQ_LEDGER_DOWN`, `DQ_CLOSED`.
   */
  abstract setLimits(
    tube: string | Tube,
    limits: LimitSettings,
    options?: PatienceOptions & ActOptions & { until?: When },
  ): Promise<ChangedLimits>;

  /**
   * Gives a tube the concurrency and limits of its handlers again, in all processes, within 5 s. Resolves with the change that it
   * ended; undefined if there was none. Rejects as `setLimits` does.
   */
  abstract resetLimits(
    tube: string | Tube,
    options?: PatienceOptions & ActOptions,
  ): Promise<ChangedLimits | undefined>;

  /**
   * Ends the pause of a tube without a burst: spreads what is overdue from now on, `perMinute` jobs a minute, and then resumes
   * the tube. Jobs that come due meanwhile run at their own times, in addition. The overdue jobs are moved as by
   * `rescheduleMany`, with the same progress and errors; if the act ends early, the tube stays paused, and the same call with the
   * `cursor` continues. Emits `operated` for both parts.
   */
  abstract resumeGradually(
    tube: string | Tube,
    pace: { perMinute: number },
    options?: BulkOptions,
  ): AsyncIterable<BulkProgress<MoveExample>>;

  /**
   * Restores the missing copies of waiting jobs. A copy is missing if its node answers and doesn't have it, is drained, or is the
   * one in the options; or if an add reached fewer nodes than it could reach now. Each such job is moved to its own due time, so
   * that all of its copies are stored again on working nodes; its attempts, id, receipt and `ref` stay. Jobs that wait for a
   * retry or are due within `dueAfter` aren't changed, and all copies on a node that doesn't answer count, unless it is the one
   * in the options. Only jobs of `DqInspector.jobs` are found, in up to 1,000 tubes; `DQ_CONFIG` is thrown if the option `index`
   * of this process is false.
   *
   * What nodes have lost is also repaired automatically: see the option `repair`. A job without a reachable copy counts as
   * failed, and one that ran, was revoked or was moved meanwhile as skipped. Progress and errors are as for `reviveMany`.
   */
  abstract repair(options?: RepairOptions): AsyncIterable<BulkProgress<RepairExample>>;
}

/** Parts the control of a cluster works with, in addition to its context. */
interface ControlParts {
  readonly producer: DqProducer;
  readonly presence: Presence;
}

/** The control of one cluster. */
export class ClusterControl extends DqControl {
  private readonly letters: LetterActs;
  private readonly waiting: WaitingActs;
  private readonly pauses: TubePauses;
  private readonly limits: TubeLimitActs;

  constructor(
    private readonly context: ProducerContext,
    private readonly parts: ControlParts,
  ) {
    super();
    this.letters = new LetterActs(context);
    this.waiting = new WaitingActs(context, parts.producer);
    this.pauses = new TubePauses(context, { ...context.parts, presence: parts.presence });
    this.limits = new TubeLimitActs(context, parts.presence);
  }

  override async runNow(ref: JobRef, options?: PatienceOptions & ActOptions): Promise<RescheduleResult> {
    const { by, patience } = checkObject('the options', options, ['by', 'patience']);
    return actOnJob(this.context.parts, 'runNow', ref, by, 'rescheduled', () =>
      this.parts.producer.reschedule(ref, { delay: 0 }, { patience }),
    );
  }

  override reviveMany(
    tube: string | Tube,
    filter: DeadLetterFilter,
    options?: BulkOptions & { delay?: Duration },
  ): AsyncIterable<BulkProgress<DeadLetter>> {
    return this.letters.reviveMany(tube, filter, options);
  }

  override discardMany(
    tube: string | Tube,
    filter: DeadLetterFilter,
    options?: BulkOptions,
  ): AsyncIterable<BulkProgress<DeadLetter>> {
    return this.letters.discardMany(tube, filter, options);
  }

  override revokeMany(
    tube: string | Tube,
    filter: WaitingFilter,
    options?: BulkOptions,
  ): AsyncIterable<BulkProgress<JobView>> {
    this.refuseWithoutList('revokeMany');
    return this.waiting.revokeMany(tube, filter, options);
  }

  override rescheduleMany(
    tube: string | Tube,
    filter: WaitingFilter,
    when: NewTime,
    options?: BulkOptions,
  ): AsyncIterable<BulkProgress<MoveExample>> {
    this.refuseWithoutList('rescheduleMany');
    return this.waiting.rescheduleMany(tube, filter, when, options);
  }

  override pause(
    tube: string | Tube,
    options?: PatienceOptions & ActOptions & { until?: When },
  ): Promise<PausedTube> {
    return this.pauses.pause(tube, options);
  }

  override resume(tube: string | Tube, options?: PatienceOptions & ActOptions): Promise<ResumedTube> {
    return this.pauses.resume(tube, options);
  }

  override setLimits(
    tube: string | Tube,
    limits: LimitSettings,
    options?: PatienceOptions & ActOptions & { until?: When },
  ): Promise<ChangedLimits> {
    return this.limits.set(tube, limits, options);
  }

  override resetLimits(
    tube: string | Tube,
    options?: PatienceOptions & ActOptions,
  ): Promise<ChangedLimits | undefined> {
    return this.limits.reset(tube, options);
  }

  override resumeGradually(
    tube: string | Tube,
    pace: { perMinute: number },
    options?: BulkOptions,
  ): AsyncIterable<BulkProgress<MoveExample>> {
    this.refuseWithoutList('resumeGradually');
    const { perMinute } = checkObject('the pace', pace, ['perMinute']);
    const checked = checkBulk(options);
    const spread = this.waiting.spreadOverdue(tube, checkPerMinute(perMinute), checked);
    return this.resumeAfter(spread, tube, checked);
  }

  private async *resumeAfter(
    spread: AsyncIterable<BulkProgress<MoveExample>>,
    tube: string | Tube,
    { by, patience, dryRun = false }: BulkOptions,
  ): AsyncGenerator<BulkProgress<MoveExample>, void, undefined> {
    yield* spread;
    if (!dryRun) await this.pauses.resume(tube, { by, patience });
  }

  override drainNode(endpoint: string, options?: ActOptions): Promise<boolean> {
    return this.mark('drainNode', endpoint, true, options);
  }

  override undrainNode(endpoint: string, options?: ActOptions): Promise<boolean> {
    return this.mark('undrainNode', endpoint, false, options);
  }

  override repair(options?: RepairOptions): AsyncIterable<BulkProgress<RepairExample>> {
    this.refuseWithoutList('repair');
    return repair(this.context, options);
  }

  /** Refuses an act without a list: finding nothing must not look like having nothing to do. Throws `DQ_CONFIG`. */
  private refuseWithoutList(act: string): void {
    const { waiting, settings } = this.context.parts;
    if (waiting.complete || (settings.mostIndexed ?? 0) > 0) return;
    const fact = `\`index\` is off, so there are no listed jobs for \`${act}\` to find: expected \`index: true\` in all processes`;
    throw new DqError('DQ_CONFIG', fact);
  }

  private async mark(act: string, node: string, drained: boolean, options?: ActOptions): Promise<boolean> {
    this.context.refuseIfClosed();
    const { by } = checkObject('the options', options, ['by']);
    const { events, cluster } = this.context.parts;
    checkNode(cluster, node);
    const marking = new Act(events, act, { node }, by);
    const changed = await this.parts.presence.markDrained(node, drained);
    marking.ended(changed ? 1 : 0);
    return changed;
  }
}
