import { monotonicFactory } from 'ulid';
import type { Cluster, NewCopies, StoreResult } from './cluster/cluster.js';
import { hasUnknown, isUnknown, maskOf } from './location.js';
import { deleteCopy } from './copy-deletion.js';
import { LONGEST_DELAY, copyDelay, copyPriority } from './copy-timing.js';
import { JobEnvelope, encodePayload, type Content } from './envelope.js';
import { DqError } from './errors.js';
import { formatIds, parseRef, type JobIds } from './job-ids.js';
import { resolveJobOptions, type ResolvedJobOptions } from './job-options.js';
import type { JobOptions, JobReceipt, JobRef, RevokeResult } from './job.js';
import type { Ledger, RevokeAnswer, RevokeRequest } from './ledger/ledger.js';
import type { DeletedCopy, SettleQueue } from './ledger/settle-queue.js';
import { parseDuration, parseWhen, type Clock, type Duration, type When } from './time.js';
import { tubeName, type Tube } from './tube.js';

/**
 * Schedules and revokes jobs. Inject it.
 * Every add may throw `DQ_TOO_FEW_COPIES` (see `indeterminate`), `DQ_BAD_PAYLOAD`, `DQ_BAD_TUBE`, `DQ_BAD_OPTION` and
 * `DQ_CLOSED`. An add needs no Redis.
 */
export abstract class DqProducer {
  /** Runs as soon as a consumer is free. */
  abstract now<In = unknown>(
    tube: string | Tube<In>,
    payload: NoInfer<In>,
    options?: JobOptions,
  ): Promise<JobReceipt>;

  /** Runs once the delay is over. `DQ_BAD_DURATION`: no unit, negative, or 1e12 ms and more, which belongs in `at`. */
  abstract delay<In = unknown>(
    tube: string | Tube<In>,
    payload: NoInfer<In>,
    delay: Duration,
    options?: JobOptions,
  ): Promise<JobReceipt>;

  /**
   * Runs at an instant. More than a second ago is `DQ_PAST_TIME`, unless `allowPast`; over 2^32−1 s ahead is
   * `DQ_TOO_FAR`; what is no instant, or looks like seconds, is `DQ_BAD_TIME`.
   */
  abstract at<In = unknown>(
    tube: string | Tube<In>,
    payload: NoInfer<In>,
    when: When,
    options?: JobOptions,
  ): Promise<JobReceipt>;

  /**
   * `revoked` means that no later start happens. `DQ_LEDGER_DOWN`: Redis did not answer, so it may or may not have taken
   * effect; asking again is safe. `DQ_BAD_REF`: no receipt, nor its `ids`. `DQ_CLOSED`.
   */
  abstract revoke(ref: JobRef): Promise<RevokeResult>;
}

export interface ProducerSettings {
  /** Before every tube name. */
  readonly prefix: string;
  /** How much later a backup copy comes due, in ms. */
  readonly backupDelay: number;
}

/** Milliseconds. How long a first add waits for ledger time. */
const TIME_LIMIT = 500;
/** Milliseconds. `at(…, new Date())` would otherwise always be in the past. */
const PAST_TOLERANCE = 1_000;

interface NewJob {
  /** The tube as the user names it. */
  readonly name: string;
  /** The tube as nodes and ledger know it: with the prefix. */
  readonly tube: string;
  readonly content: Content;
  readonly options: ResolvedJobOptions;
  /** Given ledger time, the instant in ms. */
  readonly due: (now: number) => number;
}

export class ClusterProducer extends DqProducer {
  private readonly nextId = monotonicFactory();
  private readonly timeKnown = new Map<string, Promise<void>>();
  private closed = false;

  constructor(
    private readonly cluster: Cluster,
    private readonly ledger: Ledger,
    private readonly settleQueue: SettleQueue,
    private readonly clock: Clock,
    private readonly settings: ProducerSettings,
  ) {
    super();
  }

  override async now(tube: string | Tube, payload: unknown, options?: JobOptions): Promise<JobReceipt> {
    return this.add(tube, payload, options, () => (now) => Math.floor(now));
  }

  override async delay(
    tube: string | Tube,
    payload: unknown,
    delay: Duration,
    options?: JobOptions,
  ): Promise<JobReceipt> {
    return this.add(tube, payload, options, () => {
      const ms = parseDuration(delay, 'the delay');
      return (now) => Math.ceil(now + ms);
    });
  }

  override async at(
    tube: string | Tube,
    payload: unknown,
    when: When,
    options?: JobOptions,
  ): Promise<JobReceipt> {
    return this.add(tube, payload, options, ({ allowPast }) => {
      const instant = parseWhen(when);
      return (now) => {
        if (instant < now - PAST_TOLERANCE && !allowPast) {
          throw new DqError(
            'DQ_PAST_TIME',
            `the instant is ${new Date(instant).toISOString()}, ${Math.round(now - instant)} ms ago: ` +
              'expected one to come; `allowPast: true` runs it now',
          );
        }
        return Math.max(instant, Math.floor(now));
      };
    });
  }

  override async revoke(ref: JobRef): Promise<RevokeResult> {
    this.refuseIfClosed();
    const ids = parseRef(ref);
    const [answer] = await this.ledger.tube(ids.tube).revoke([revokeRequest(ids)]);
    const { result } = answer as RevokeAnswer;
    if (result !== 'revoked' && result !== 'unknown') return result;
    const everywhere = await this.deleteCopies(ids);
    // Nobody had one reserved, and the tombstone stood before: an overdue job in a backlog is revoked in time.
    return result === 'unknown' && everywhere ? 'revoked' : result;
  }

  /** Adds fail from now on. Idempotent. */
  close(): void {
    this.closed = true;
  }

  private async add(
    tube: string | Tube,
    payload: unknown,
    options: JobOptions | undefined,
    due: (options: ResolvedJobOptions) => NewJob['due'],
  ): Promise<JobReceipt> {
    this.refuseIfClosed();
    const calledAt = this.clock.now();
    const resolved = resolveJobOptions(options);
    const { prefix } = this.settings;
    const name = tubeName(tube, prefix);
    const job: NewJob = {
      name,
      tube: prefix + name,
      options: resolved,
      due: due(resolved),
      content: encodePayload(payload),
    };
    const known = this.timeKnown.get(job.tube);
    await (known ?? this.learnTime(job.tube));
    this.refuseIfClosed();
    return this.store(job, this.clock.now() - calledAt);
  }

  private refuseIfClosed(): void {
    if (this.closed)
      throw new DqError('DQ_CLOSED', 'the module is closed, so nothing can be scheduled or revoked');
  }

  /** The first add of a tube waits a little for ledger time; after that the machine's clock has to do. */
  private learnTime(tube: string): Promise<void> {
    const known = new Promise<void>((resolve) => {
      const limit = this.clock.after(TIME_LIMIT, resolve);
      const stop = () => {
        limit.cancel();
        resolve();
      };
      this.ledger.tube(tube).readTime().then(stop, stop);
    });
    this.timeKnown.set(tube, known);
    return known;
  }

  /** `waited`: since the call, in ms; its time is what a delay counts from. */
  private async store(job: NewJob, waited: number): Promise<JobReceipt> {
    const time = this.ledger.tube(job.tube);
    const now = time.now();
    const due = job.due(now - waited);
    if (due - now > LONGEST_DELAY * 1000) {
      throw new DqError('DQ_TOO_FAR', `due at ${due} ms, which is over ${LONGEST_DELAY} s ahead`);
    }
    const id = this.nextId(Math.floor(now));
    const { priority, attempts, backoff, headers } = job.options;
    const { backupDelay } = this.settings;
    const envelopeOf = (copies: number) =>
      new JobEnvelope({ id, due, generation: 0, copies, priority, attempts, backoff, headers }, job.content);
    let envelope = envelopeOf(this.cluster.settings.replicas);
    this.checkSize(envelope);
    const copies: NewCopies = {
      tube: job.tube,
      body: (planned, index, siblings) => {
        if (planned !== envelope.job.copies) envelope = envelopeOf(planned);
        return envelope.copy(index, siblings);
      },
      delay: (index) => copyDelay(index, due - time.now(), backupDelay),
      priority: (index) => copyPriority(priority, due, index),
    };
    const result = await new Promise<StoreResult>((resolve) => this.cluster.put(copies, resolve));
    const places = [...result.stored, ...result.doubtful];
    const ids: JobIds = { tube: job.tube, id, born: 0, due, copies: result.planned, places };
    if (result.stored.length < this.cluster.settings.minWritten) throw await this.undo(ids, result);
    return { id, ids: formatIds(ids), tube: job.name, dueAt: new Date(due), copies: result.stored.length };
  }

  private checkSize(envelope: JobEnvelope): void {
    // Each node but the primary's may be named: a put without an answer is followed by one on another node.
    const size = envelope.largestCopy(this.cluster.nodes.length - 1, this.cluster.longestLocation);
    const limit = this.cluster.maxJobSize;
    if (size <= limit) return;
    throw new DqError(
      'DQ_BAD_PAYLOAD',
      `the payload with its header may take ${size} bytes: expected ${limit} at most (max-job-size of a node, beanstalkd -z)`,
    );
  }

  /** Takes back what was stored on too few nodes, and tells whether that is certain. */
  private async undo(ids: JobIds, { stored, reasons }: StoreResult): Promise<DqError> {
    const undone =
      ids.places.length === 0 || (await this.deleteCopies(ids)) || (await this.revokeUnstarted(ids));
    const { minWritten } = this.cluster.settings;
    return new DqError(
      'DQ_TOO_FEW_COPIES',
      `stored on ${stored.length} of ${this.cluster.nodes.length} nodes, need ${minWritten}: ` +
        Object.entries(reasons)
          .map(([node, reason]) => `${node}: ${reason}`)
          .join('; ') +
        (undone ? '; nothing of it will run' : '; it may still run'),
      { nodes: reasons, indeterminate: !undone },
    );
  }

  private async revokeUnstarted(ids: JobIds): Promise<boolean> {
    try {
      const [answer] = await this.ledger.tube(ids.tube).revoke([revokeRequest(ids)]);
      return answer?.result === 'revoked';
    } catch (error) {
      if (error instanceof DqError) return false; // down or closed: the add's own error says so
      throw error;
    }
  }

  /** True when every copy was there and is deleted, so that none can surface. */
  private async deleteCopies(ids: JobIds): Promise<boolean> {
    const job = { id: ids.id, generation: ids.born };
    const unknown = hasUnknown(ids.places);
    const answers = await Promise.all(
      ids.places
        .filter(({ location }) => !isUnknown(location))
        .map(
          (place) =>
            new Promise<DeletedCopy | undefined>((resolve) => deleteCopy(this.cluster, job, place, resolve)),
        ),
    );
    const copies = answers.filter((copy) => copy !== undefined);
    this.settleQueue.add({ tube: ids.tube, ...job, copies, unknown });
    return !unknown && copies.length === ids.places.length && copies.length > 0;
  }
}

function revokeRequest(ids: JobIds): RevokeRequest {
  const owed = { mask: maskOf(ids.places), unknown: hasUnknown(ids.places) };
  return { id: ids.id, born: ids.born, due: ids.due, owed };
}
