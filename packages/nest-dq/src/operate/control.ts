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
import type { BulkOptions, BulkProgress } from './bulk.js';
import { LetterActs } from './letter-acts.js';
import type { LetterFilter } from './letter-filter.js';
import { checkNode, repair, type RepairExample, type RepairOptions } from './repair.js';
import { TubePauses, type PausedTube, type ResumedTube } from './tube-pauses.js';
import { WaitingActs } from './waiting-acts.js';
import type { NewTime, WaitingFilter } from './waiting-filter.js';

/** Steers a cluster, by the rules that every job has. Each act is told as the event `operated`. Inject it. */
export abstract class DqControl {
  /**
   * Moves a job that waits, or waits for a retry, to now. Its attempts begin anew, and its id, receipt and `ref` stay valid.
   * A job that runs, is over or is dead stays as it is, and that is the result. It may throw what `DqProducer.reschedule`
   * throws.
   */
  abstract runNow(ref: JobRef, options?: PatienceOptions & ActOptions): Promise<RescheduleResult>;

  /**
   * Revives the dead letters of a tube that meet the filter, now or each after a delay; the newest first. A letter whose copies
   * are all out of reach counts as failed, and one that somebody else revived or discarded, or whose key has a newer job, as
   * skipped. A letter that dies again, or for the first time, after the act began stays dead.
   *
   * Nothing happens until it is iterated. It tells its progress before it changes anything, and after each page of 128 letters;
   * nothing is under way then, so a consumer that breaks ends the act. If servers are away for longer than `patience`, it throws with
   * `progress`, and the same call with that `cursor` goes on. Store the cursor of each progress, and a process that dies can go on, too:
   * what was changed behind that place is not changed again. `DQ_BAD_OPTION`, `DQ_BAD_TIME`, `DQ_BAD_DURATION`, `DQ_BAD_TUBE` and `DQ_CLOSED` are
   * thrown at the call; `DQ_LEDGER_DOWN`, `DQ_TOO_FEW_COPIES` and `DQ_CLOSED` by the iteration.
   */
  abstract reviveMany(
    tube: string | Tube,
    filter: LetterFilter,
    options?: BulkOptions & { delay?: Duration },
  ): AsyncIterable<BulkProgress<DeadLetter>>;

  /**
   * Gives up the dead letters of a tube that meet the filter, for good, and deletes their copies; the newest first. Progress
   * and errors are those of `reviveMany`.
   */
  abstract discardMany(
    tube: string | Tube,
    filter: LetterFilter,
    options?: BulkOptions,
  ): AsyncIterable<BulkProgress<DeadLetter>>;

  /**
   * Drains a node: from now on it gets no new copies, in all processes within 5 s, until `undrainNode`. Its copies stay, and
   * their jobs run. Only an add that could not reach `minWritten` otherwise still uses it. True: it was not drained before.
   * `DQ_BAD_OPTION`: the cluster has no such node. `DQ_LEDGER_DOWN`, `DQ_CLOSED`.
   * @param endpoint As in the option `beanstalks`, which should be the same in all processes.
   */
  abstract drainNode(endpoint: string, options?: ActOptions): Promise<boolean>;

  /** Lets a node get copies again, in all processes within 5 s. True: it was drained. It throws what `drainNode` throws. */
  abstract undrainNode(endpoint: string, options?: ActOptions): Promise<boolean>;

  /**
   * Revokes the jobs of a tube that wait and meet the filter, in the order in which they are due, and deletes their copies. A job
   * that has begun to run, or ended, counts as skipped; nothing follows a run that goes on. If a frozen process holds copies, it
   * waits up to 70 s for them; a job whose copy is held for longer counts as failed with `DQ_UNCONFIRMED`, although it is revoked. Only jobs that are listed are met:
   * on a cluster some may be missing, and `DQ_CONFIG` is thrown at the call if the option `index` of this process is false.
   * Progress and other errors are those of `reviveMany`.
   */
  abstract revokeMany(
    tube: string | Tube,
    filter: WaitingFilter,
    options?: BulkOptions,
  ): AsyncIterable<BulkProgress<JobView>>;

  /**
   * Moves the jobs of a tube that wait and meet the filter: to an instant, to a delay from now, or `{ later: '1h' }` or
   * `{ earlier: '1h' }` than each was due, where a time in the past means now. Attempts begin anew. A job that others moved,
   * that runs or that is over counts as skipped; none is moved twice, also if you repeat the call with a `cursor`. Otherwise as `revokeMany`. The iteration may also throw
   * `DQ_PAST_TIME`.
   */
  abstract rescheduleMany(
    tube: string | Tube,
    filter: WaitingFilter,
    when: NewTime,
    options?: BulkOptions,
  ): AsyncIterable<BulkProgress<JobView>>;

  /**
   * From the answer on no run of the tube is granted, in any process, until somebody resumes it, or until an instant. Runs that
   * were granted go on; adds, moves and revokes too. What comes due waits, and the time of a pause makes no job stale. In a tube
   * that is paused it sets the end anew. Resolves with the pause, and with `unknown: true` if nobody seems to know the tube: no process
   * consumes it, and it has no job. Asking the nodes for that takes up to a second, if one of them hangs.
   * `DQ_PAST_TIME`: `until` is over by the clock of the ledger; nothing changes. `DQ_BAD_TIME`, `DQ_TOO_FAR`, `DQ_BAD_TUBE`,
   * `DQ_BAD_OPTION`, `DQ_BAD_DURATION`, `DQ_LEDGER_DOWN`, `DQ_CLOSED`.
   */
  abstract pause(
    tube: string | Tube,
    options?: PatienceOptions & ActOptions & { until?: When },
  ): Promise<PausedTube>;

  /**
   * Ends the pause of a tube. Processes learn it within a second, and then run what is due. Resolves with the pause that it
   * `ended`, if there was one; if there was none, `unknown` as above. `DQ_BAD_TUBE`, `DQ_BAD_OPTION`, `DQ_BAD_DURATION`, `DQ_LEDGER_DOWN`, `DQ_CLOSED`.
   */
  abstract resume(tube: string | Tube, options?: PatienceOptions & ActOptions): Promise<ResumedTube>;

  /**
   * Gives jobs that wait the copies that they miss. A copy is missing if its node answers and does not have it, is drained, or is
   * the one in the options; and if an add reached fewer nodes than it could reach now. Each such job is moved to its own
   * instant, so that all of its copies are stored anew on nodes that work; its attempts, its id, its receipt and its `ref`
   * stay. Jobs that wait for a retry stay as they are, as do those that are due within `dueAfter`, and all copies of a node
   * that does not answer count, unless it is the one in the options. Only jobs of `DqInspector.jobs` are found, in up to
   * 1,000 tubes; `DQ_CONFIG` is thrown at the call if the option `index` of this process is false.
   *
   * What nodes have lost is also repaired by itself: see the option `repair`. A job without a copy in reach counts as failed, and
   * one that ran, was revoked or was moved meanwhile as skipped. Progress and errors are those of `reviveMany`.
   */
  abstract repair(options?: RepairOptions): AsyncIterable<BulkProgress<RepairExample>>;
}

/** What the control of a cluster works with, beside its context. */
interface ControlParts {
  readonly producer: DqProducer;
  readonly presence: Presence;
}

/** The control of one cluster. */
export class ClusterControl extends DqControl {
  private readonly letters: LetterActs;
  private readonly waiting: WaitingActs;
  private readonly pauses: TubePauses;

  constructor(
    private readonly context: ProducerContext,
    private readonly parts: ControlParts,
  ) {
    super();
    this.letters = new LetterActs(context);
    this.waiting = new WaitingActs(context, parts.producer);
    this.pauses = new TubePauses(context, { ...context.parts, presence: parts.presence });
  }

  override async runNow(ref: JobRef, options?: PatienceOptions & ActOptions): Promise<RescheduleResult> {
    const { by, patience } = checkObject('the options', options, ['by', 'patience']);
    return actOnJob(this.context.parts, 'runNow', ref, by, 'rescheduled', () =>
      this.parts.producer.reschedule(ref, { delay: 0 }, { patience }),
    );
  }

  override reviveMany(
    tube: string | Tube,
    filter: LetterFilter,
    options?: BulkOptions & { delay?: Duration },
  ): AsyncIterable<BulkProgress<DeadLetter>> {
    return this.letters.reviveMany(tube, filter, options);
  }

  override discardMany(
    tube: string | Tube,
    filter: LetterFilter,
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
  ): AsyncIterable<BulkProgress<JobView>> {
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

  /** An act that finds nothing must not look like one that had nothing to do. `DQ_CONFIG`. */
  private refuseWithoutList(act: string): void {
    const { waiting, settings } = this.context.parts;
    if (waiting.complete || (settings.mostIndexed ?? 0) > 0) return;
    const fact = `\`index\` is off, so no job is listed that \`${act}\` could find: expected \`index: true\` in all processes`;
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
