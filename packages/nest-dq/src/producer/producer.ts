import { encodePayload, type Content } from '../envelope.js';
import { deleteCopies } from '../copy-deletion.js';
import { readCopy } from '../copy-reading.js';
import { owedAt } from '../copy-storing.js';
import { DqError, show, toError } from '../errors.js';
import { formatIds, parseRef, type JobTarget } from '../job-ids.js';
import { resolveJobOptions, withHeaders, type ResolvedJobOptions } from '../job-options.js';
import type {
  AddResult,
  JobOptions,
  JobReceipt,
  JobRef,
  JobView,
  RescheduleResult,
  RevokeResult,
} from '../job.js';
import type { RevokeAnswer, Schedule } from '../ledger/ledger.js';
import type { Duration, When } from '../time.js';
import { schemaOf, tubeName, type Tube } from '../tube.js';
import { Adds, type AddDone } from './adds.js';
import { checkBoolean, checkObject } from './call-options.js';
import { dueAfter, dueAt, dueNow, type Due } from './due.js';
import { Moves } from './moves.js';
import { refuseInvalid } from './payload-check.js';
import type { ProducerParts } from './producer-parts.js';
import { BoundProducer, type TubeProducer } from './tube-producer.js';

/**
 * Schedules, moves and revokes jobs. Inject it.
 * Every add may throw `DQ_TOO_FEW_COPIES` (see `indeterminate`), `DQ_BAD_PAYLOAD`, `DQ_BAD_TUBE`, `DQ_BAD_OPTION` and
 * `DQ_CLOSED`. An add without a key needs no Redis; one with a key may throw `DQ_LEDGER_DOWN` (see `indeterminate`) and
 * `DQ_DUPLICATE`.
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
   * Many at once: one result a job, in the order given, as of `delay`. Rejects for none of them, but for all, before
   * anything is stored, where the tube is wrong or `jobs` is no iterable of objects. Any length: so many are on their
   * way at a time as keep the nodes busy.
   */
  abstract delayMany<In = unknown>(
    tube: string | Tube<In>,
    jobs: Iterable<JobOptions & { payload: NoInfer<In>; delay: Duration }>,
  ): Promise<AddResult[]>;

  /** The same as of `at`. */
  abstract atMany<In = unknown>(
    tube: string | Tube<In>,
    jobs: Iterable<JobOptions & { payload: NoInfer<In>; at: When }>,
  ): Promise<AddResult[]>;

  /**
   * `revoked` means that no later start happens. `running`: that run goes on, and nothing follows it, no retry and no
   * `Again`; with `abort` the handler's signal is raised, wherever it runs, within 5 s. `DQ_LEDGER_DOWN`: Redis did not
   * answer, so it may or may not have taken effect; asking again is safe. `DQ_BAD_REF`, `DQ_BAD_TUBE`, `DQ_BAD_OPTION`,
   * `DQ_CLOSED`.
   */
  abstract revoke(ref: JobRef, options?: { abort?: boolean }): Promise<RevokeResult>;

  /**
   * Gives a job that does not run another time, and another payload if one is given. One that waits for a retry is moved
   * too, and its attempts begin anew; its id, receipt and `ids` stay valid. Errors are those of a keyed add, and
   * `DQ_NO_COPY` when every node that has a copy is away.
   */
  abstract reschedule<In = unknown>(
    ref: JobRef<In>,
    when: When | { readonly delay: Duration },
    options?: { payload?: NoInfer<In>; allowPast?: boolean },
  ): Promise<RescheduleResult>;

  /**
   * What is known of a job: asks Redis, and where that has nothing, the nodes that the reference names. Undefined: no job
   * of that key, or its end is longer ago than is remembered. `DQ_LEDGER_DOWN`, `DQ_BAD_REF`, `DQ_CLOSED`.
   */
  abstract find(ref: JobRef): Promise<JobView | undefined>;

  /** The same calls bound to one tube. `DQ_BAD_TUBE`. */
  abstract tube<In = unknown>(tube: string | Tube<In>): TubeProducer<In>;
}

/** Milliseconds. How long a first add waits for ledger time. */
const TIME_LIMIT = 500;

/** How many adds of one call of `delayMany` or `atMany` are on their way at a time: more are no faster. */
const MANY_AT_ONCE = 512;

export class ClusterProducer extends DqProducer {
  private readonly adds: Adds;
  private readonly moves: Moves;
  private readonly timeKnown = new Set<string>();
  private readonly timeAsked = new Map<string, Promise<void>>();
  private closed = false;

  constructor(private readonly parts: ProducerParts) {
    super();
    this.adds = new Adds(parts);
    this.moves = new Moves(parts);
  }

  override now(tube: string | Tube, payload: unknown, options?: JobOptions): Promise<JobReceipt> {
    return this.add(tube, payload, options, () => dueNow);
  }

  override delay(
    tube: string | Tube,
    payload: unknown,
    delay: Duration,
    options?: JobOptions,
  ): Promise<JobReceipt> {
    return this.add(tube, payload, options, () => dueAfter(delay));
  }

  override at(tube: string | Tube, payload: unknown, when: When, options?: JobOptions): Promise<JobReceipt> {
    return this.add(tube, payload, options, ({ allowPast }) => dueAt(when, allowPast));
  }

  override async delayMany(
    tube: string | Tube,
    jobs: Iterable<JobOptions & { payload: unknown; delay: Duration }>,
  ): Promise<AddResult[]> {
    return this.addMany(tube, jobs, ({ payload, delay, ...options }, calledAt, done) =>
      this.addOne(tube, payload, options, () => dueAfter(delay), calledAt, done),
    );
  }

  override async atMany(
    tube: string | Tube,
    jobs: Iterable<JobOptions & { payload: unknown; at: When }>,
  ): Promise<AddResult[]> {
    return this.addMany(tube, jobs, ({ payload, at, ...options }, calledAt, done) =>
      this.addOne(tube, payload, options, ({ allowPast }) => dueAt(at, allowPast), calledAt, done),
    );
  }

  override async revoke(ref: JobRef, options?: { abort?: boolean }): Promise<RevokeResult> {
    this.refuseIfClosed();
    const { abort = false } = checkObject('the revoke options', options, ['abort']);
    checkBoolean('abort', abort);
    const target = this.parse(ref);
    const { tube, id, born, due, places } = target;
    const { cluster, ledger, settleQueue } = this.parts;
    const [answer] = await ledger.tube(tube).revoke([{ id, born, due, owed: owedAt(places), abort }]);
    const { result, revoked } = answer as RevokeAnswer;
    if (!revoked) return this.ended(target, result);
    // The record's places go before the reference's: the job may have been moved since.
    const known = revoked.places.length > 0 ? revoked.places : revoked.generation === born ? places : [];
    const job = { id, generation: revoked.generation };
    const everywhere = await deleteCopies(cluster, settleQueue, tube, job, known);
    // Nobody had one reserved, and the tombstone stood before: an overdue job in a backlog is revoked in time.
    return this.ended(target, result === 'unknown' && everywhere ? 'revoked' : result, revoked);
  }

  override async reschedule(
    ref: JobRef,
    when: When | { readonly delay: Duration },
    options?: { payload?: unknown; allowPast?: boolean },
  ): Promise<RescheduleResult> {
    this.refuseIfClosed();
    const calledAt = this.parts.clock.now();
    const { payload, allowPast = false } = checkObject('the reschedule options', options, [
      'payload',
      'allowPast',
    ]);
    checkBoolean('allowPast', allowPast);
    const target = this.parse(ref);
    const due = rescheduleDue(when, allowPast);
    const content: Content | undefined = payload === undefined ? undefined : encodePayload(payload);
    if (content) await checkFor(ref, content);
    return this.moves.reschedule(target, await this.dueIn(target.tube, due, calledAt), content);
  }

  override async find(ref: JobRef): Promise<JobView | undefined> {
    this.refuseIfClosed();
    const target = this.parse(ref);
    const { tube, id, born, places } = target;
    const [found] = await this.parts.ledger.tube(tube).find([id]);
    if (found) return born === undefined || found.born === born ? this.view(target, found) : undefined;
    if (born === undefined) return undefined;
    const copy = await readCopy(this.parts.cluster, { id, generation: born }, places);
    if (!copy) return undefined;
    const { due } = copy.header;
    return this.view(target, { state: 'waiting', born, generation: born, due, attempt: 0, places });
  }

  override tube(tube: string | Tube): TubeProducer<any> {
    tubeName(tube, this.parts.settings.prefix);
    return new BoundProducer(this, tube);
  }

  /** Everything fails from now on. Idempotent. */
  close(): void {
    this.closed = true;
  }

  private add(
    tube: string | Tube,
    payload: unknown,
    options: JobOptions | undefined,
    when: (options: ResolvedJobOptions) => Due,
  ): Promise<JobReceipt> {
    return new Promise((resolve, reject) => {
      this.addOne(tube, payload, options, when, this.parts.clock.now(), (error, receipt) => {
        if (receipt) resolve(receipt);
        else reject(error as DqError);
      });
    });
  }

  /** Without a promise, as long as ledger time is known: a job costs a third less. May throw what is wrong with it. */
  private addOne(
    tube: string | Tube,
    payload: unknown,
    options: JobOptions | undefined,
    when: (options: ResolvedJobOptions) => Due,
    calledAt: number,
    done: AddDone,
  ): void {
    this.refuseIfClosed();
    const resolved = resolveJobOptions(options);
    const { prefix } = this.parts.settings;
    const name = tubeName(tube, prefix);
    const storedAs = prefix + name;
    const dueGiven = when(resolved);
    const content = encodePayload(payload);
    const schema = schemaOf(tube);
    const checking = schema && refuseInvalid(schema, content, name);
    const learning = this.timeKnown.has(storedAs) ? undefined : this.learnTime(storedAs);
    const carrying = this.carrying(resolved, name);
    const told = this.parts.events.heard('scheduled') ? this.telling(done) : done;
    const add = () => {
      const due = this.dueOf(storedAs, dueGiven, calledAt);
      this.adds.add({ name, tube: storedAs, content, options: carrying, due }, told);
    };
    if (checking || learning) Promise.all([checking, learning]).then(add).catch(done);
    else add();
  }

  /** With what the hooks add to the headers, in the context of the call. */
  private carrying(options: ResolvedJobOptions, tube: string): ResolvedJobOptions {
    const { onSchedule } = this.parts;
    if (!onSchedule) return options;
    const headers = { ...options.headers };
    try {
      onSchedule(headers, { tube, key: options.key });
    } catch (cause) {
      const fact = `the \`onSchedule\` of a hook failed: ${toError(cause).message}`;
      throw new DqError('DQ_BAD_OPTION', fact, { cause });
    }
    return withHeaders(options, headers);
  }

  private telling(done: AddDone): AddDone {
    return (error, receipt) => {
      if (receipt && receipt.status !== 'kept') this.parts.events.tell('scheduled', { receipt });
      done(error, receipt);
    };
  }

  private ended(target: JobTarget, result: RevokeResult, revoked?: Schedule): RevokeResult {
    const { events } = this.parts;
    if (result === 'revoked' && events.heard('revoked')) {
      const { id, key } = target;
      const ids = idsOf(target, revoked);
      events.tell('revoked', {
        id,
        ...(ids === undefined ? {} : { ids }),
        tube: this.withoutPrefix(target.tube),
        ...(key === undefined ? {} : { key }),
      });
    }
    return result;
  }

  private withoutPrefix(tube: string): string {
    const { prefix } = this.parts.settings;
    return tube.startsWith(prefix) ? tube.slice(prefix.length) : tube;
  }

  private async addMany<Job>(
    tube: string | Tube,
    jobs: Iterable<Job>,
    add: (job: Job, calledAt: number, done: AddDone) => void,
  ): Promise<AddResult[]> {
    this.refuseIfClosed();
    const calledAt = this.parts.clock.now();
    tubeName(tube, this.parts.settings.prefix);
    const all = listOf(jobs);
    const results: AddResult[] = [];
    let next = 0;
    let left = all.length;
    return new Promise((resolve) => {
      const addNext = () => {
        const place = next++;
        const done: AddDone = (error, receipt) => {
          results[place] = receipt ? { receipt } : { error: error as DqError };
          if (--left === 0) resolve(results);
          else if (next < all.length) addNext();
        };
        try {
          add(all[place]!, calledAt, done);
        } catch (error) {
          // Later, or many wrong ones would call each other until the stack is full.
          this.parts.clock.next(() => done(error));
        }
      };
      if (all.length === 0) resolve(results);
      while (next < Math.min(all.length, MANY_AT_ONCE)) addNext();
    });
  }

  /** Counts from the call, by ledger time, which the first call of a tube waits for a little. */
  private async dueIn(tube: string, due: Due, calledAt: number): Promise<number> {
    if (!this.timeKnown.has(tube)) await this.learnTime(tube);
    return this.dueOf(tube, due, calledAt);
  }

  private dueOf(tube: string, due: Due, calledAt: number): number {
    this.refuseIfClosed();
    const { clock, ledger } = this.parts;
    return due(ledger.tube(tube).now() - (clock.now() - calledAt));
  }

  private learnTime(tube: string): Promise<void> {
    const asked = this.timeAsked.get(tube);
    if (asked) return asked;
    const { clock, ledger } = this.parts;
    const known = new Promise<void>((resolve) => {
      const go = () => {
        limit.cancel();
        this.timeKnown.add(tube);
        this.timeAsked.delete(tube);
        resolve();
      };
      // After that the machine's clock has to do.
      const limit = clock.after(TIME_LIMIT, go);
      ledger.tube(tube).readTime().then(go, go);
    });
    this.timeAsked.set(tube, known);
    return known;
  }

  private parse(ref: JobRef): JobTarget {
    return parseRef(ref, this.parts.settings.prefix);
  }

  private view({ tube, id, key, copies, places }: JobTarget, found: Schedule): JobView {
    const { state, attempt, due, born } = found;
    const known = found.places.length > 0 ? found.places : places;
    const ids = formatIds({ tube, id, key, born, due, copies: copies || known.length, places: known });
    return {
      state: state === 'waiting' && attempt > 0 ? 'retrying' : state,
      id,
      ids,
      tube: this.withoutPrefix(tube),
      ...(key === undefined ? {} : { key }),
      dueAt: new Date(due),
      attempt,
    };
  }

  private refuseIfClosed(): void {
    if (this.closed)
      throw new DqError('DQ_CLOSED', 'the module is closed, so nothing can be scheduled or revoked');
  }
}

/** The text of the reference itself; of one by key, what the ledger knew. */
function idsOf(target: JobTarget, known: Schedule | undefined): string | undefined {
  const { born } = target;
  if (born !== undefined) return formatIds({ ...target, born });
  return known && formatIds({ ...target, ...known, copies: known.places.length });
}

function rescheduleDue(when: When | { readonly delay: Duration }, allowPast: boolean): Due {
  if (typeof when === 'string') {
    throw new DqError(
      'DQ_BAD_TIME',
      `the new time is ${show(when)}: expected an instant, or { delay: '15m' }`,
    );
  }
  return isDelay(when)
    ? dueAfter(checkObject('the new time', when, ['delay']).delay)
    : dueAt(when, allowPast);
}

/** Only a reference by key knows its token, and so its schema; what others bring is checked when it runs. */
async function checkFor(ref: JobRef, content: Content): Promise<void> {
  if (typeof ref !== 'object' || !('tube' in ref)) return;
  const schema = schemaOf(ref.tube);
  if (schema) await refuseInvalid(schema, content, tubeName(ref.tube, ''));
}

function isDelay(when: When | { readonly delay: Duration }): when is { readonly delay: Duration } {
  return typeof when === 'object' && when !== null && 'delay' in when;
}

/** All of it, before anything is stored: an iterator may fail on its way. */
function listOf<Job>(jobs: Iterable<Job>): Job[] {
  const iterable = typeof jobs === 'object' && jobs !== null && Symbol.iterator in jobs;
  if (!iterable) {
    throw new DqError('DQ_BAD_OPTION', `the jobs are ${show(jobs)}: expected an array, or another iterable`);
  }
  const list = Array.from(jobs);
  const wrong = list.findIndex((job) => typeof job !== 'object' || job === null);
  if (wrong < 0) return list;
  throw new DqError('DQ_BAD_OPTION', `job ${wrong} of the list is ${show(list[wrong])}: expected an object`);
}
