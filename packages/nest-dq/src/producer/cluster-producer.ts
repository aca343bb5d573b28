import type { Duration, When } from 'nest-handlers/time';
import { checkKey, resolveJobOptions, type ResolvedJobOptions } from '../api/job-options.js';
import type {
  AddResult,
  JobOptions,
  JobReceipt,
  JobRef,
  JobView,
  NewJob,
  PacedOptions,
  PatienceOptions,
  RescheduleResult,
  RevokeOptions,
  RevokeResult,
} from '../api/job.js';
import type { JobEnd } from '../api/job-end.js';
import {
  codecsOf,
  nestTube,
  schemaOf,
  storedTube,
  tubeName,
  tubeNames,
  withoutPrefix,
  type StoredTube,
  type Tube,
} from '../api/tube.js';
import { DqError, show, wrongValue } from '../errors.js';
import { foreignFormatOf, namedCopies } from '../copies/formats/unwrap.js';
import { refuseExpired } from '../copies/expiry.js';
import type { Envelope } from '../copies/header.js';
import { namesOf } from '../copies/encoded.js';
import { codecsOfRef, keyedId, parseRef } from '../copies/job-ref.js';
import { asText, encodePayload, type Content } from '../copies/payload.js';
import { addAll, dueOfNew, listOf, receiptsOf } from './add-many.js';
import { boundProducer } from './bound-producer.js';
import { checkBoolean, checkObject } from './call-options.js';
import { dueAfter, dueAgain, dueAt, dueNow, type Due } from './due.js';
import type { ForeignJobs } from './foreign-jobs.js';
import { JobAdder, type Adder } from './job-adder.js';
import { JobEnds } from './job-ends.js';
import { findJob, headersOf } from './job-finder.js';
import { look } from './generations.js';
import { debounced, PacedAdder, throttled } from './paced-adder.js';
import { refuseInvalid } from './payload-check.js';
import {
  contentOf,
  plannedContent,
  type PlannedJob,
  type PlannedMove,
  type PlannedTarget,
} from './planned-job.js';
import type { AdoptedAs, ProducerContext, ProducerParts } from './producer-context.js';
import { DqProducer } from './producer.js';
import { checkFor, Rescheduler } from './rescheduler.js';
import type { SharedPatience } from './retries.js';
import { Revoker } from './revoker.js';
import type { TubeProducer } from './tube-producer.js';

interface AddCall {
  /** Clock time. */
  readonly calledAt: number;
  /** Options allowed in addition to those of a job. */
  readonly alongside: readonly string[];
  readonly together: SharedPatience;
  readonly adder: Adder;
}

/** The producer of one cluster. */
export class ClusterProducer extends DqProducer {
  private readonly parts: ProducerParts;
  private readonly adder: JobAdder;
  private readonly revoker: Revoker;
  private readonly rescheduler: Rescheduler;
  private readonly ends: JobEnds;

  constructor(
    private readonly context: ProducerContext,
    private readonly foreign: ForeignJobs,
  ) {
    super();
    this.parts = context.parts;
    this.adder = new JobAdder(context);
    this.revoker = new Revoker(context, foreign);
    this.rescheduler = new Rescheduler(context);
    this.ends = new JobEnds(context);
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

  override async debounce(
    tube: string | Tube,
    payload: unknown,
    options: PacedOptions & { wait: Duration; max?: Duration },
  ): Promise<JobReceipt> {
    checkPaced('debounce', options);
    const { wait, max } = options;
    const adder = new PacedAdder(this.context, this.adder, debounced(wait, max));
    return this.add(tube, payload, options, () => dueAfter(wait), { alongside: ['wait', 'max'], adder });
  }

  override async throttle(
    tube: string | Tube,
    payload: unknown,
    options: PacedOptions & { per: Duration },
  ): Promise<JobReceipt> {
    checkPaced('throttle', options);
    const pace = throttled(options.per, this.parts.settings.doneTtl);
    const adder = new PacedAdder(this.context, this.adder, pace);
    return this.add(tube, payload, options, () => dueNow, { alongside: ['per'], adder });
  }

  override addMany(
    tube: string | Tube,
    jobs: Iterable<NewJob>,
    options?: { results?: false },
  ): Promise<JobReceipt[]>;
  override addMany(
    tube: string | Tube,
    jobs: Iterable<NewJob>,
    options: { results: true },
  ): Promise<AddResult[]>;
  override async addMany(
    tube: string | Tube,
    jobs: Iterable<NewJob>,
    options?: { results?: boolean },
  ): Promise<JobReceipt[] | AddResult[]> {
    this.context.refuseIfClosed();
    const { results: asked = false } = checkObject('the addMany options', options, ['results']);
    checkBoolean('results', asked);
    const { clock, settings } = this.parts;
    const calledAt = clock.now();
    tubeName(tube, settings.prefix);
    const alongside = ['payload', 'delay', 'at'];
    const results = await addAll(listOf(jobs), (job, together) => {
      const call = { calledAt, alongside, together };
      return this.add(tube, job.payload, job, ({ allowPast }) => dueOfNew(job, allowPast), call);
    });
    return asked ? results : receiptsOf(results);
  }

  override async revoke(ref: JobRef, options?: RevokeOptions): Promise<RevokeResult> {
    const {
      abort = false,
      confirmed = false,
      patience,
    } = checkObject('the revoke options', options, ['abort', 'confirmed', 'patience']);
    checkBoolean('abort', abort);
    checkBoolean('confirmed', confirmed);
    const call = { patience: this.context.patienceOf(patience), repeatable: true, abort, confirmed };
    return this.revoker.revoke(ref, call);
  }

  override async reschedule(
    ref: JobRef,
    when: When | { readonly delay: Duration },
    options?: PatienceOptions & { payload?: unknown; allowPast?: boolean },
  ): Promise<RescheduleResult> {
    const {
      payload,
      allowPast = false,
      patience,
    } = checkObject('the reschedule options', options, ['payload', 'allowPast', 'patience']);
    checkBoolean('allowPast', allowPast);
    const call = { patience: this.context.patienceOf(patience), payload, allowPast };
    return this.rescheduler.reschedule(ref, when, call);
  }

  override async find(ref: JobRef, options?: PatienceOptions): Promise<JobView | undefined> {
    const { patience } = checkObject('the find options', options, ['patience']);
    const call = { patience: this.context.patienceOf(patience) };
    const copies = namedCopies(ref);
    const target = copies ? await this.foreign.find(copies) : this.context.parse(ref);
    if (!target) return undefined;
    const find = () =>
      foreignFormatOf(target.id) ? this.foreign.view(target) : findJob(this.context, target);
    return this.context.retries.run(call, find);
  }

  override async finished<Result>(
    ref: JobRef,
    options?: { timeout?: Duration; signal?: AbortSignal },
  ): Promise<JobEnd<Result>> {
    const end = await this.ends.finished(ref, options);
    return end as JobEnd<Result>;
  }

  /** Resolves with a reference to the job where it is now: a different one if it was adopted. `DQ_BAD_REF`. */
  present(ref: JobRef): Promise<JobRef> {
    return this.foreign.present(ref);
  }

  /** Resolves with the ledger time of a tube, in ms, as reported by its server, never by the local clock. For series. `DQ_LEDGER_DOWN`. */
  async ledgerTime(tube: string): Promise<number> {
    const ledger = this.parts.ledger.tube(storedTube(tube, this.parts.settings.prefix));
    await ledger.readTime();
    return ledger.now();
  }

  /** Resolves with the headers in a copy of a job known to the ledger. Undefined if no copy is reachable. For series. */
  async headersOf(ref: JobRef): Promise<Readonly<Record<string, string>> | undefined> {
    const target = this.context.parse(ref);
    return this.context.retries.run({ patience: this.context.patienceOf() }, () =>
      headersOf(this.context, target),
    );
  }

  /** Reschedules a job, and overwrites the given headers and, if given, the payload. For series. */
  async replan(
    ref: JobRef,
    when: number,
    headers: Readonly<Record<string, string>>,
    content?: Content,
  ): Promise<RescheduleResult> {
    return this.rescheduler.replan(ref, when, { headers, content }, { patience: this.context.patienceOf() });
  }

  /**
   * Checks that plans of series may add such jobs. `DQ_BAD_PAYLOAD` if the tube's schema rejects the payload; `DQ_BAD_OPTION` if the
   * tube's jobs are sealed, since anybody who can write to Redis could add one, or are in another program's format.
   */
  async checkForSeries(tube: string | Tube, payload: unknown): Promise<void> {
    this.context.refuseIfClosed();
    const { name, storedAs } = tubeNames(tube, this.parts.settings.prefix);
    const fact = this.sealsJobsOf(storedAs)
      ? "its jobs are sealed, and a plan in Redis isn't: expected a tube of `seal.unsealed`, or `@Recurring`"
      : this.foreign.adderOf(tube, name) &&
        'its jobs are in the format of another program: expected another tube';
    if (fact) throw new DqError('DQ_BAD_OPTION', `the tube of the series is ${show(name)}, and ${fact}`);
    const schema = schemaOf(tube);
    const codecs = codecsOf(tube);
    if (schema) await refuseInvalid(schema, encodePayload(payload, codecs?.codec), name, codecs);
  }

  /** Whether the tube's jobs are sealed. */
  sealsJobsOf(tube: StoredTube): boolean {
    return this.parts.cluster.settings.seal?.settings.unsealed.has(tube) === false;
  }

  /** Turns a job in another program's format into one of ours. One that already exists is left as it is. For consumers. */
  async adopt(stored: StoredTube, { content }: Envelope, { key, due }: AdoptedAs): Promise<JobReceipt> {
    const storedAs = nestTube(stored);
    const options = resolveJobOptions({ key, onDuplicate: 'keep' });
    const { cluster, clock, events, settings } = this.parts;
    const tube = withoutPrefix(storedAs, settings.prefix);
    const { seal } = cluster.settings;
    const { patience } = settings;
    const job = { tube, storedAs, seal, content, options, due, until: clock.now() + patience };
    const call = { patience, bytes: content.bytes.length };
    const receipt = await this.context.retries.run(call, () => this.adder.add(job));
    if (receipt.status !== 'kept') events.scheduled(receipt);
    return receipt;
  }

  /**
   * Checks a keyed job as an add does, and resolves with what `addPlanned` adds. For outboxes. Needs no server: if Redis is away,
   * the time is the one last heard from it, or the machine's.
   */
  async plan(
    tube: string | Tube,
    payload: unknown,
    given: JobOptions & { key: string },
    when: (options: ResolvedJobOptions) => Due,
  ): Promise<PlannedJob> {
    const { context } = this;
    const { clock, cluster, settings } = this.parts;
    const calledAt = clock.now();
    const resolved = resolveJobOptions(given);
    const dueGiven = when(resolved);
    const { name, storedAs } = tubeNames(tube, settings.prefix);
    if (this.foreign.adderOf(tube, name)) throw new DqError('DQ_BAD_OPTION', notInOutbox(name));
    const codecs = codecsOf(tube);
    const content = asText(encodePayload(payload, codecs?.codec));
    const options = this.adder.prepare(name, resolved); // in the caller's context
    const schema = schemaOf(tube);
    await Promise.all([
      schema && refuseInvalid(schema, content, name, codecs),
      context.dueTimes.ready(storedAs),
    ]);
    const due = context.dueTimes.of(storedAs, dueGiven, calledAt);
    const id = keyedId(storedAs, given.key);
    const { seal } = cluster.settings;
    this.adder.refuseTooLarge({ tube: name, storedAs, seal, content, options, due, until: 0 }, id);
    return { tube: storedAs, key: given.key, id, due, content: plannedContent(content), options };
  }

  /** Checks a move as `reschedule` does, and resolves with what `movePlanned` does. For outboxes. */
  async planMove(
    ref: JobRef,
    when: When | { readonly delay: Duration },
    options?: { payload?: unknown; allowPast?: boolean },
  ): Promise<PlannedMove & PlannedTarget> {
    const { payload, allowPast = false } = checkObject('the reschedule options', options, [
      'payload',
      'allowPast',
    ]);
    checkBoolean('allowPast', allowPast);
    const calledAt = this.parts.clock.now();
    const target = this.planned(ref);
    const dueGiven = dueAgain(when, allowPast);
    const codecs = codecsOfRef(ref);
    const content = payload === undefined ? undefined : asText(encodePayload(payload, codecs?.codec));
    await Promise.all([content && checkFor(ref, content), this.context.dueTimes.ready(target.tube)]);
    const due = this.context.dueTimes.of(target.tube, dueGiven, calledAt);
    const change = content && { content: plannedContent(content), readable: namesOf(codecs) };
    return { ...target, due, ...change };
  }

  /** Checks a revoke as `revoke` does, and returns what it is about. For outboxes. */
  planRevoke(ref: JobRef, options?: Omit<RevokeOptions, 'patience'>): PlannedTarget {
    const { abort = false, confirmed = false } = checkObject('the revoke options', options, [
      'abort',
      'confirmed',
    ]);
    checkBoolean('abort', abort);
    checkBoolean('confirmed', confirmed);
    return this.planned(ref);
  }

  /** Resolves with the generation of the last add that is known under a job's key, in whatever state; 0 if there is none. `DQ_LEDGER_DOWN`. */
  async bornLast(tube: StoredTube, id: string): Promise<number> {
    const found = await look(this.context.batched.ask(tube, 'find', id));
    return found?.born ?? 0;
  }

  /** Adds a planned job, in one try, unless the key has or had a job born after `after`. Then its receipt has the status `kept`. */
  async addPlanned(planned: PlannedJob, after: number): Promise<JobReceipt> {
    this.context.refuseIfClosed();
    const { cluster, clock, events, settings } = this.parts;
    const { tube: storedAs, due, options } = planned;
    const tube = withoutPrefix(storedAs, settings.prefix);
    const { seal } = cluster.settings;
    const content = contentOf(planned.content);
    const receipt = await this.adder.add({
      tube,
      storedAs,
      seal,
      content,
      options,
      due,
      until: clock.now(),
      after,
    });
    if (receipt.status !== 'kept') events.scheduled(receipt);
    return receipt;
  }

  /** Makes a planned move, in one try, even if its time is over. */
  movePlanned({ ref, due, content, readable }: PlannedMove): Promise<RescheduleResult> {
    const change = content && { content: contentOf(content), readable };
    return this.rescheduler.replan(ref, due, { ...change }, { patience: 0 });
  }

  override tube(tube: string | Tube): TubeProducer<any> {
    return boundProducer(this, tube, storedTube(tube, this.parts.settings.prefix));
  }

  /**
   * Ends the calls of `finished`, and closes its context, so that from now on everything fails, also for others that use it. Resolves once stored jobs are
   * indexed and copies of revoked jobs are deleted, within half a second. Idempotent.
   */
  async close(): Promise<void> {
    this.ends.close();
    await Promise.all([this.context.close(), this.revoker.close()]);
  }

  /** Throws `DQ_BAD_REF`, `DQ_BAD_TUBE`, and `DQ_BAD_OPTION` for a job in another program's format. */
  private planned(ref: JobRef): PlannedTarget {
    if (namedCopies(ref)) throw new DqError('DQ_BAD_OPTION', notInOutbox(ref));
    const { prefix } = this.parts.settings;
    const { tube, id, key } = parseRef(ref, prefix, this.parts.cluster.settings.seal);
    if (foreignFormatOf(id)) throw new DqError('DQ_BAD_OPTION', notInOutbox(ref));
    const text = typeof ref === 'object' && 'ref' in ref ? ref.ref : ref;
    if (typeof text === 'string') return { tube, id, ref: { ref: text } };
    const name = withoutPrefix(tube, prefix);
    return { tube, id, ref: key === undefined ? { tube: name, id } : { tube: name, key } };
  }

  /** Adds a job, from start to finish. A caller's error rejects before anything is stored. */
  private async add(
    tube: string | Tube,
    payload: unknown,
    given: JobOptions | undefined,
    when: (options: ResolvedJobOptions) => Due,
    {
      calledAt = this.parts.clock.now(),
      alongside,
      together,
      adder: ours = this.adder,
    }: Partial<AddCall> = {},
  ): Promise<JobReceipt> {
    const { context } = this;
    context.refuseIfClosed();
    const { cluster, events, settings } = this.parts;
    const resolved = resolveJobOptions(given, alongside);
    const dueGiven = when(resolved);
    const { name, storedAs } = tubeNames(tube, settings.prefix);
    const codecs = codecsOf(tube);
    const content = encodePayload(payload, codecs?.codec);
    const adder = this.foreign.adderOf(tube, name) ?? ours;
    const options = adder.prepare(name, resolved, content); // in the caller's context
    const learning = context.dueTimes.ready(storedAs);
    const schema = schemaOf(tube);
    const checking = schema && refuseInvalid(schema, content, name, codecs);
    if (checking || learning) {
      await Promise.all([checking, learning]);
      context.refuseIfClosed();
    }
    const due = context.dueTimes.of(storedAs, dueGiven, calledAt);
    refuseExpired({ due, expires: options.expires });
    const { patience = settings.patience } = options;
    const { seal } = cluster.settings;
    const job = { tube: name, storedAs, seal, content, options, due, until: calledAt + patience };
    let receipt: JobReceipt;
    try {
      receipt = await adder.add(job);
    } catch (failure) {
      const call = { patience, together, bytes: content.bytes.length };
      receipt = await context.retries.again(failure, call, () => adder.add(job));
    }
    if (receipt.status !== 'kept') events.scheduled(receipt);
    return receipt;
  }
}

function notInOutbox(what: unknown): string {
  return `${show(what)} is shared with go-queue, whose jobs have no key: add, revoke and move them without an outbox`;
}

/** `DQ_BAD_OPTION`. */
function checkPaced(call: string, options: JobOptions): void {
  if (typeof options !== 'object' || options === null)
    throw wrongValue('DQ_BAD_OPTION', `the options of ${call}`, options, 'an object with a `key`');
  checkKey(options.key, '`key`', 'DQ_BAD_OPTION');
  for (const name of ['onDuplicate', 'allowPast'] as const) {
    if (options[name] === undefined) continue;
    throw wrongValue('DQ_BAD_OPTION', `\`${name}\``, options[name], `none, because ${call} decides it`);
  }
}
