import { encodePayload, type Content } from '../copies/payload.js';
import { deleteCopies } from '../copies/deletion.js';
import { owedAt } from '../copies/storing.js';
import { DqError, toError } from '../errors.js';
import { formatRef, parseRef, type JobTarget } from '../copies/job-ref.js';
import { resolveJobOptions, withHeaders, type ResolvedJobOptions } from '../api/job-options.js';
import type {
  AddResult,
  JobOptions,
  JobReceipt,
  JobRef,
  JobRefText,
  JobView,
  PatienceOptions,
  RescheduleResult,
  RevokeResult,
} from '../api/job.js';
import type { Schedule } from '../ledger/requests.js';
import type { Duration } from '../time/duration.js';
import type { When } from '../time/instant.js';
import { schemaOf, storedTube, tubeName, withoutPrefix, type StoredTube, type Tube } from '../api/tube.js';
import { Adds, type AddDone } from './adds.js';
import { BatchedLedger } from './batched-ledger.js';
import { BoundProducer } from './bound-producer.js';
import { checkBoolean, checkObject, patienceOf } from './call-options.js';
import { dueAfter, dueAgain, dueAt, dueNow, type Due } from './due.js';
import { Lookups } from './lookups.js';
import { addAll, listOf } from './many.js';
import { Moves, type Change } from './moves.js';
import { refuseInvalid } from './payload-check.js';
import { DqProducer } from './producer.js';
import type { ProducerParts } from './producer-parts.js';
import { Retries, type PatientCall, type Together } from './retries.js';
import { TubeTimes } from './tube-times.js';
import type { TubeProducer } from './tube-producer.js';

/** The producer of one cluster. */
export class ClusterProducer extends DqProducer {
  private readonly adds: Adds;
  private readonly moves: Moves;
  private readonly lookups: Lookups;
  private readonly times: TubeTimes;
  private readonly batched: BatchedLedger;
  private readonly retries: Retries;
  private closed = false;

  constructor(private readonly parts: ProducerParts) {
    super();
    this.batched = new BatchedLedger(parts.ledger, parts.clock);
    this.retries = new Retries(parts.clock);
    this.adds = new Adds(parts, this.batched, this.retries);
    this.moves = new Moves(parts, this.batched);
    this.lookups = new Lookups(parts, this.batched);
    this.times = new TubeTimes(parts.ledger, parts.clock);
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
    return this.addMany(tube, jobs, ({ payload, delay, ...options }, calledAt, together, done) =>
      this.addOne(tube, payload, options, () => dueAfter(delay), calledAt, done, together),
    );
  }

  override async atMany(
    tube: string | Tube,
    jobs: Iterable<JobOptions & { payload: unknown; at: When }>,
  ): Promise<AddResult[]> {
    return this.addMany(tube, jobs, ({ payload, at, ...options }, calledAt, together, done) =>
      this.addOne(tube, payload, options, ({ allowPast }) => dueAt(at, allowPast), calledAt, done, together),
    );
  }

  override async revoke(ref: JobRef, options?: PatienceOptions & { abort?: boolean }): Promise<RevokeResult> {
    this.refuseIfClosed();
    const { abort = false, patience } = checkObject('the revoke options', options, ['abort', 'patience']);
    checkBoolean('abort', abort);
    const call = this.patientCall(patience, { repeatable: true });
    const target = this.parse(ref);
    const { tube, id, born, due, places } = target;
    const { cluster, settleQueue } = this.parts;
    const request = { id, born, due, owed: owedAt(places), abort };
    const batched = this.batched.tube(tube);
    const { result, revoked } = await this.retries.run(call, () => batched.revoke(request));
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
    options?: PatienceOptions & { payload?: unknown; allowPast?: boolean },
  ): Promise<RescheduleResult> {
    this.refuseIfClosed();
    const {
      payload,
      allowPast = false,
      patience,
    } = checkObject('the reschedule options', options, ['payload', 'allowPast', 'patience']);
    checkBoolean('allowPast', allowPast);
    const calledAt = this.parts.clock.now();
    const called = this.patientCall(patience);
    const target = this.parse(ref);
    const due = dueAgain(when, allowPast);
    const content: Content | undefined = payload === undefined ? undefined : encodePayload(payload);
    if (content) await checkFor(ref, content);
    const call = content ? { ...called, bytes: content.bytes.length } : called;
    return this.move(target, await this.dueIn(target.tube, due, calledAt), { content }, call);
  }

  override async find(ref: JobRef, options?: PatienceOptions): Promise<JobView | undefined> {
    this.refuseIfClosed();
    const { patience } = checkObject('the find options', options, ['patience']);
    const call = this.patientCall(patience);
    const target = this.parse(ref);
    return this.retries.run(call, () => this.lookups.find(target));
  }

  /** Of a job that the ledger knows, as a copy has them; undefined when none is in reach. For series. */
  async headersOf(ref: JobRef): Promise<Readonly<Record<string, string>> | undefined> {
    this.refuseIfClosed();
    const target = this.parse(ref);
    return this.retries.run(this.patientCall(), () => this.lookups.headersOf(target));
  }

  /** Reschedules, and writes headers over those that the job has. For series. */
  async replan(
    ref: JobRef,
    when: number,
    headers: Readonly<Record<string, string>>,
  ): Promise<RescheduleResult> {
    this.refuseIfClosed();
    const calledAt = this.parts.clock.now();
    const target = this.parse(ref);
    const due = await this.dueIn(target.tube, dueAt(when, true), calledAt);
    return this.move(target, due, { headers }, this.patientCall());
  }

  override tube(tube: string | Tube): TubeProducer<any> {
    return new BoundProducer(this, tube, storedTube(tube, this.parts.settings.prefix));
  }

  /** Everything fails from now on. Idempotent. */
  close(): void {
    this.closed = true;
    this.retries.close();
  }

  private move(target: JobTarget, due: number, change: Change, call: PatientCall): Promise<RescheduleResult> {
    const until = this.parts.clock.now() + call.patience;
    return this.retries.run(call, () => this.moves.reschedule(target, due, change, until));
  }

  private patientCall(patience?: Duration, more?: Pick<PatientCall, 'repeatable'>): PatientCall {
    return { patience: patienceOf({ patience }, this.parts.settings.patience), ...more };
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
    together?: Together,
  ): void {
    this.refuseIfClosed();
    const resolved = resolveJobOptions(options);
    const { prefix } = this.parts.settings;
    const name = tubeName(tube, prefix);
    const storedAs = storedTube(name, prefix);
    const dueGiven = when(resolved);
    const content = encodePayload(payload);
    const learning = this.times.learning(storedAs);
    const carrying = this.carrying(resolved, name);
    const told = this.parts.events.heard('scheduled') ? this.telling(done) : done;
    const schema = schemaOf(tube);
    // The last that may throw: a promise of it has an owner from here on.
    const checking = schema && refuseInvalid(schema, content, name);
    const add = () => {
      const due = this.dueOf(storedAs, dueGiven, calledAt);
      this.adds.add({ name, tube: storedAs, content, options: carrying, due, calledAt, together }, told);
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
      const ref = refOf(target, revoked);
      events.tell('revoked', {
        id,
        ...(ref === undefined ? {} : { ref }),
        tube: withoutPrefix(target.tube, this.parts.settings.prefix),
        ...(key === undefined ? {} : { key }),
      });
    }
    return result;
  }

  private async addMany<Job>(
    tube: string | Tube,
    jobs: Iterable<Job>,
    add: (job: Job, calledAt: number, together: Together, done: AddDone) => void,
  ): Promise<AddResult[]> {
    this.refuseIfClosed();
    const { clock, settings } = this.parts;
    const calledAt = clock.now();
    tubeName(tube, settings.prefix);
    const together: Together = { failingSince: undefined };
    return addAll(listOf(jobs), clock, together, (job, done) => add(job, calledAt, together, done));
  }

  /** Counts from the call, by ledger time, which the first call of a tube waits for a little. */
  private async dueIn(tube: StoredTube, due: Due, calledAt: number): Promise<number> {
    await this.times.learning(tube);
    return this.dueOf(tube, due, calledAt);
  }

  private dueOf(tube: StoredTube, due: Due, calledAt: number): number {
    this.refuseIfClosed();
    const { clock, ledger } = this.parts;
    return due(ledger.tube(tube).now() - (clock.now() - calledAt));
  }

  private parse(ref: JobRef): JobTarget {
    return parseRef(ref, this.parts.settings.prefix);
  }

  private refuseIfClosed(): void {
    if (this.closed)
      throw new DqError('DQ_CLOSED', 'the module is closed, so nothing can be scheduled or revoked');
  }
}

/** The text of the reference itself; of one by key, what the ledger knew. */
function refOf(target: JobTarget, known: Schedule | undefined): JobRefText | undefined {
  const { born } = target;
  if (born !== undefined) return formatRef({ ...target, born });
  return known && formatRef({ ...target, ...known, copies: known.places.length });
}

/** Only a reference by key knows its token, and so its schema; what others bring is checked when it runs. */
async function checkFor(ref: JobRef, content: Content): Promise<void> {
  if (typeof ref !== 'object' || !('tube' in ref)) return;
  const schema = schemaOf(ref.tube);
  if (schema) await refuseInvalid(schema, content, tubeName(ref.tube, ''));
}
