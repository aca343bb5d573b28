/** Calls the handler of a topic, and finds a place for messages it can't handle. */
import { isOutcome } from '../api/outcome.js';
import { readValue, type ReadValue } from '../api/read-value.js';
import { formatOf, type Topic } from '../api/topic.js';
import type { Delivery, Outcome, Ran } from '../consumer/topic-work.js';
import type { Delays, FailedMessage, LaterOutcome } from '../delays/delays.js';
import type { LogMessage, OutgoingMessage } from '../driver/message.js';
import { KqError, toError } from '../errors.js';
import type { EventHub } from '../events/event-hub.js';
import type { Death } from '../events/events.js';
import { isThenable, wrongResult } from 'nest-handlers/context';
import type { Clock } from 'nest-handlers/time';
import { alike, batchResults, type Failed } from './batch-results.js';
import { deadLetterOf, retryLetterOf } from './dead-letter.js';
import { RunSignal } from '../consumer/run-signal.js';
import {
  defaultBackoff,
  type DeadLetterPlace,
  type FailureSettings,
  type LetterTopic,
} from './failure-options.js';
import { ItemEvents, type Item } from './item.js';
import { retryTopicOf } from '../driver/made-topics.js';
import { timed } from './timed.js';
import { verdictOf, type Verdict } from './verdict.js';

/** Takes value and message, or a list of each for batches. May throw, return or resolve with an outcome. */
export type MessageHandler = (value: any, message: any) => unknown;

export interface HandlerRunsOptions {
  readonly group: string;
  /** Determines format and schema of the values. */
  readonly topic: string | Topic;
  readonly handler: MessageHandler;
  /** The handler takes all messages of a run in one call. */
  readonly batches: boolean;
  readonly settings: FailureSettings;
  readonly events: EventHub;
  /** Resolves once the letter is stored; rejects if it isn't, or if that is unknown. */
  store(to: LetterTopic, letter: OutgoingMessage): Promise<unknown>;
  /** Absent if the application doesn't have nest-dq. */
  readonly delays?: Pick<Delays, 'retry'>;
}

/** Retry delay, long enough for most rebalances. */
const AFTER_REBALANCE_MS = 1_000;

/** A message waiting to be stored elsewhere. */
interface Decided {
  readonly verdict: Verdict;
  readonly value: unknown;
}

export class HandlerRuns {
  /** Verdicts of messages waiting to be stored elsewhere: no handler here gets them again. */
  private readonly decided = new WeakMap<LogMessage, Decided>();
  /** Number of times a message couldn't be decoded because no schema registry answered. These don't count as attempts. */
  private readonly unread = new WeakMap<LogMessage, number>();
  private readonly events: ItemEvents;
  private readonly waitsForFormat: boolean;

  constructor(
    private readonly clock: Clock,
    private readonly options: HandlerRunsOptions,
  ) {
    this.waitsForFormat = typeof formatOf(options.topic) === 'object';
    this.events = new ItemEvents(clock, options);
  }

  /** Runs messages for the consumer: returns an outcome for each, in order, and neither throws nor rejects. */
  run(deliveries: readonly Delivery[], run: RunSignal): Ran {
    const { batches, settings } = this.options;
    const [only] = deliveries;
    if (only && deliveries.length === 1 && !batches && settings.timeout === undefined)
      return this.runOne(only, run);
    return this.runAll(deliveries, run);
  }

  /**
   * The common case of one message, with no more promises than schema and handler create: each costs as much as everything else.
   */
  private runOne(delivery: Delivery, run: RunSignal): Ran {
    const reading = this.read(delivery, run);
    return reading instanceof Promise ? reading.then((item) => this.runItem(item)) : this.runItem(reading);
  }

  private runItem(item: Item): Ran {
    const begin = this.clock.now();
    if (item.verdict) return this.ended(item, begin);
    try {
      const returned = this.options.handler(item.value, this.events.messageOf(item));
      if (isThenable(returned)) return this.whenReturned(item, begin, returned);
      this.judge(item, returned);
    } catch (thrown) {
      item.verdict = this.verdictOf(thrown, item.delivery);
    }
    return this.ended(item, begin);
  }

  private async whenReturned(
    item: Item,
    begin: number,
    returning: PromiseLike<unknown>,
  ): Promise<readonly Outcome[]> {
    try {
      this.judge(item, await returning);
    } catch (thrown) {
      item.verdict = this.verdictOf(thrown, item.delivery);
    }
    return this.ended(item, begin);
  }

  private judge(item: Item, returned: unknown): void {
    if (isOutcome(returned)) item.verdict = this.verdictOf(returned, item.delivery);
    else this.refuseWrong(returned, item.delivery.topic);
  }

  /** Throws if the handler returned a result that can only be a mistake. */
  private refuseWrong(returned: unknown, topic: string): void {
    const wrong = wrongResult(returned, OUTCOMES);
    if (wrong === undefined) return;
    throw new KqError('KQ_BAD_OPTION', `the handler of ${topic} returned ${wrong}`, { cause: returned });
  }

  private ended(item: Item, begin: number): Ran {
    if (item.verdict) return this.outcomeOf(item, begin).then((outcome) => [outcome]);
    this.events.handled(item, begin);
    return ONE_HANDLED;
  }

  private async runAll(deliveries: readonly Delivery[], run: RunSignal): Promise<readonly Outcome[]> {
    const items: Item[] = [];
    for (const delivery of deliveries) items.push(await this.read(delivery, run));
    const begin = this.clock.now();
    await this.handle(
      items.filter(({ verdict }) => !verdict),
      run,
    );
    return Promise.all(items.map((item) => this.outcomeOf(item, begin)));
  }

  /** Runs a message that came back from nest-dq, whose events report the failures. Never rejects. */
  async runLater(failed: FailedMessage, signal: AbortSignal): Promise<LaterOutcome> {
    const { topic, partition, message, runs } = failed;
    const run = new RunSignal();
    signal.addEventListener('abort', () => run.cut());
    if (signal.aborted) run.cut();
    const item = await this.readLater({ topic, partition, message, attempt: runs + 1 }, run);
    const begin = this.clock.now();
    if (!item.verdict) await this.handle([item], run);
    const { verdict } = item;
    if (!verdict) {
      this.events.handled(item, begin);
      return 'handled';
    }
    if (verdict.kind === 'again') return verdict;
    const { why, error } = verdict.death;
    const place = this.placeOf(item, error);
    if (place === 'dq') return { final: error, why };
    const outcome = await this.bury(item, verdict.death, place);
    return outcome === 'handled' ? outcome : { ...outcome, error };
  }

  /** Waits within the run until the message can be decoded, since a nest-dq job counts every run. */
  private async readLater(delivery: Delivery, run: RunSignal): Promise<Item> {
    for (;;) {
      const item = await this.read(delivery, run);
      if (!item.waits || run.isCut) return item;
      await pause(this.clock, item.waits.after, run);
    }
  }

  /**
   * Reads a message. An unreadable one is dead at once; a schema that itself fails is a failure of the run. While no schema
   * registry answers, the message waits.
   */
  private read(given: Delivery, run: RunSignal): Item | Promise<Item> {
    const { message, topic } = given;
    // Looks count as attempts only while the message waits in its partition.
    const unread = this.waitsForFormat && given.work ? this.unread.get(message) : undefined;
    const delivery = unread === undefined ? given : { ...given, attempt: given.attempt - unread };
    const { value: bytes } = message;
    const decided = this.decided.get(message);
    if (decided) return { delivery, run, ...decided };
    const itemOf = (read: ReadValue): Item => {
      if (!(read instanceof KqError)) return { delivery, run, value: read.payload };
      const death: Death = { why: 'unreadable', error: read, runs: 0 };
      return { delivery, run, value: bytes, verdict: { kind: 'dead', death } };
    };
    const failed = (thrown: unknown): Item => {
      if (!(thrown instanceof KqError && thrown.code === 'KQ_REGISTRY'))
        return { delivery, run, value: bytes, verdict: this.verdictOf(thrown, delivery) };
      const times = (this.unread.get(message) ?? 0) + 1;
      this.unread.set(message, times);
      const runs = delivery.attempt - 1;
      const waits = { kind: 'again', after: defaultBackoff(times), error: thrown, runs } as const;
      return { delivery, run, value: bytes, verdict: waits, waits };
    };
    try {
      const read = readValue(this.options.topic, topic, bytes);
      return 'then' in read ? Promise.resolve(read).then(itemOf, failed) : itemOf(read);
    } catch (thrown) {
      return failed(thrown);
    }
  }

  /** Calls the handler. Items that weren't handled then have a verdict. */
  private async handle(items: readonly Item[], run: RunSignal): Promise<void> {
    if (items.length === 0) return;
    const results = await this.call(items, run);
    for (const [index, item] of items.entries()) {
      const failed = results[index];
      if (failed) item.verdict = this.verdictOf(failed.thrown, item.delivery);
    }
  }

  /** Returns the failure of each message; undefined if it was handled. */
  private async call(items: readonly Item[], run: RunSignal): Promise<readonly (Failed | undefined)[]> {
    const { handler, batches } = this.options;
    try {
      const returned = await this.timed(items, run, () => {
        const messages = items.map((item) => this.events.messageOf(item));
        if (!batches) return handler(items[0]!.value, messages[0]);
        const values = items.map(({ value }) => value);
        return handler(values, messages);
      });
      if (!isOutcome(returned)) this.refuseWrong(returned, items[0]!.delivery.topic);
      if (batches) return batchResults(returned, items.length);
      return [isOutcome(returned) ? { thrown: returned } : undefined];
    } catch (thrown) {
      return alike({ thrown }, items.length);
    }
  }

  private async timed(items: readonly Item[], run: RunSignal, call: () => unknown): Promise<unknown> {
    const { clock } = this;
    const { timeout } = this.options.settings;
    if (timeout === undefined) return call();
    const { topic } = items[0]!.delivery;
    return timed({ clock, timeout, topic, run, overran: () => this.events.overran(items) }, call);
  }

  private verdictOf(thrown: unknown, { attempt }: Delivery): Verdict {
    return verdictOf(thrown, attempt, this.options.settings);
  }

  private async outcomeOf(item: Item, begin: number): Promise<Outcome> {
    const { verdict, run } = item;
    if (!verdict) {
      this.events.handled(item, begin);
      return 'handled';
    }
    const { work, message } = item.delivery;
    const error = verdict.kind === 'dead' ? verdict.death.error : verdict.error;
    const took = this.clock.now() - begin;
    // Its transaction is committed: another run would store its results twice.
    if (work?.hasCommitted(message.offset)) {
      this.events.handled(item, begin);
      this.events.emit('failedLate', item, { error, took });
      return 'handled';
    }
    // A run we cut is no failure: the partition's new owner runs the message again.
    if (run.isCut) return { after: 0 };
    // Nor is one interrupted by a rebalance, whatever its handler makes of that.
    if (work?.interrupted) {
      this.events.emit('failed', item, { error, took, after: AFTER_REBALANCE_MS });
      return { after: AFTER_REBALANCE_MS };
    }
    if (verdict.kind === 'dead') return this.bury(item, verdict.death, this.placeOf(item, error));
    const through = item.waits ? undefined : this.options.settings.through;
    if (through?.what === 'topics') return this.storeForRetry(item, verdict);
    if (through && verdict.runs >= through.from) {
      const attempts = this.options.settings.attempts - verdict.runs;
      return this.defer(item, verdict, { ...verdict, attempts });
    }
    const { after } = verdict;
    this.events.emit('failed', item, { error, took, after });
    return { after };
  }

  /** Returns an error if the application's own function failed. */
  private placeOf({ delivery }: Item, error: Error): DeadLetterPlace | Error {
    try {
      return this.options.settings.deadLetter(error, delivery.topic);
    } catch (thrown) {
      return toError(thrown);
    }
  }

  private async bury(item: Item, death: Death, place: DeadLetterPlace | Error): Promise<Outcome> {
    const { group } = this.options;
    const { delivery } = item;
    if (place === 'drop') {
      this.events.emit('dropped', item, death);
      return 'handled';
    }
    // The job's only run fails the same way or does better; if it fails, its dead letter has the error.
    if (place === 'dq') return this.defer(item, { kind: 'dead', death }, { ...death, after: 0, attempts: 1 });
    try {
      if (place instanceof Error) throw place;
      await this.options.store(place, deadLetterOf(delivery, death, group, this.clock.wall()));
      this.events.emit('died', item, { ...death, topic: place.topic });
      return 'handled';
    } catch (thrown) {
      this.decide(item, { kind: 'dead', death });
      return this.hold(item, death, toError(thrown));
    }
  }

  private async defer(
    item: Item,
    verdict: Verdict,
    { error, after, runs, attempts }: Deferral,
  ): Promise<Outcome> {
    const { delays, group } = this.options;
    const { topic, partition, message } = item.delivery;
    return this.waitElsewhere(item, verdict, { to: 'nest-dq', error, after }, async () => {
      if (!delays) throw new KqError('KQ_CONFIG', NO_DQ);
      await delays.retry(group, { topic, partition, message, runs }, after, attempts);
    });
  }

  private storeForRetry(item: Item, verdict: Again): Promise<Outcome> {
    const { error, after, runs } = verdict;
    const { group, settings } = this.options;
    const { delivery } = item;
    const delay = settings.delays[Math.min(runs, settings.delays.length) - 1]!;
    const to = retryTopicOf(delivery.topic, group, delay);
    return this.waitElsewhere(item, verdict, { to, error, after }, async () => {
      const time = this.clock.wall();
      const letter = retryLetterOf(delivery, { error, runs, group, time, due: time + after });
      await this.options.store({ topic: to, madeFor: delivery.topic }, letter);
    });
  }

  /** Stores the message elsewhere, after which it counts as handled here. */
  private async waitElsewhere(
    item: Item,
    verdict: Verdict,
    told: { readonly to: string; readonly error: Error; readonly after: number },
    store: () => Promise<unknown>,
  ): Promise<Outcome> {
    try {
      await store();
    } catch (thrown) {
      this.decide(item, verdict);
      const after = defaultBackoff(item.delivery.attempt);
      this.events.emit('notDeferred', item, { ...told, trouble: toError(thrown), after });
      return { after };
    }
    this.events.emit('deferred', item, told);
    return 'handled';
  }

  private hold(item: Item, death: Death, trouble: Error): Outcome {
    const after = defaultBackoff(item.delivery.attempt);
    this.events.emit('held', item, { ...death, trouble, after });
    return { after };
  }

  private decide({ delivery, value }: Item, verdict: Verdict): void {
    this.decided.set(delivery.message, { verdict, value });
  }
}

type Again = Extract<Verdict, { kind: 'again' }>;

/** `runs`: runs so far; `attempts`: max runs of its job. */
interface Deferral {
  readonly error: Error;
  readonly after: number;
  readonly runs: number;
  readonly attempts: number;
}

/** Resolves early if the run is cut. */
function pause(clock: Clock, time: number, run: RunSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = clock.after(time, resolve);
    run.signal.addEventListener('abort', () => {
      timer.cancel();
      resolve();
    });
  });
}

const OUTCOMES = ['Retry', 'Discard'];
const ONE_HANDLED: readonly Outcome[] = ['handled'];

const NO_DQ =
  "`deadLetter` returned 'dq', but nest-dq is missing: import KqDqModule.forRoot() from 'nest-kq/dq'";
