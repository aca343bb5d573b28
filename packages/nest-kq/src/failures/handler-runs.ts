/** Calls the handler of a topic, and finds a place for what it cannot handle. */
import { isOutcome } from '../api/outcome.js';
import { readValue, type ReadValue } from '../api/read-value.js';
import type { Topic } from '../api/topic.js';
import type { Delivery, Outcome, Ran } from '../consumer/topic-work.js';
import type { Delays, FailedMessage, LaterOutcome } from '../delays/delays.js';
import type { LogMessage, OutgoingMessage } from '../driver/message.js';
import { KqError, toError } from '../errors.js';
import type { EventHub } from '../events/event-hub.js';
import type { Death } from '../events/events.js';
import { wrongResult } from 'nest-handlers/context';
import type { Clock } from 'nest-handlers/time';
import { alike, batchResults, type Failed } from './batch-results.js';
import { deadLetterOf } from './dead-letter.js';
import { RunSignal } from '../consumer/run-signal.js';
import { defaultBackoff, type FailureSettings } from './failure-options.js';
import { ItemEvents, type Item } from './item.js';
import { timed } from './timed.js';
import { verdictOf, type Verdict } from './verdict.js';

/** Gets value and message; of batches, the list of each. It may throw, return or resolve with an outcome. */
export type MessageHandler = (value: any, message: any) => unknown;

export interface HandlerRunsOptions {
  readonly group: string;
  /** Gives format and schema of the values. */
  readonly topic: string | Topic;
  readonly handler: MessageHandler;
  /** The handler gets all messages of a run by one call. */
  readonly batches: boolean;
  readonly settings: FailureSettings;
  readonly events: EventHub;
  /** Resolves once the letter is stored; rejects if it is not, or that is not known. */
  store(topic: string, letter: OutgoingMessage): Promise<unknown>;
  /** Where `settings` name nest-dq. */
  readonly delays?: Pick<Delays, 'retry'>;
}

/** Milliseconds, in which most groups have shared out their partitions. */
const AFTER_REBALANCE = 1_000;

/** A message that waits until it is stored elsewhere. */
interface Decided {
  readonly verdict: Verdict;
  readonly value: unknown;
}

export class HandlerRuns {
  /** What became of those that wait until they are stored elsewhere: no handler gets them here any more. */
  private readonly decided = new WeakMap<LogMessage, Decided>();
  private readonly events: ItemEvents;

  constructor(
    private readonly clock: Clock,
    private readonly options: HandlerRunsOptions,
  ) {
    this.events = new ItemEvents(clock, options);
  }

  /** As the consumer calls it: gives an outcome for each message, in their order, and neither throws nor rejects. */
  run(deliveries: readonly Delivery[], run: RunSignal): Ran {
    const { batches, settings } = this.options;
    const [only] = deliveries;
    if (only && deliveries.length === 1 && !batches && settings.timeout === undefined)
      return this.runOne(only, run);
    return this.runAll(deliveries, run);
  }

  /** The same for most messages, with no more promises than schema and handler make: each costs as much as the rest. */
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

  /** Throws what a run fails by whose handler has returned what cannot be meant. */
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

  /** A run of a message that came back from nest-dq, whose events tell what fails of it. Never rejects. */
  async runLater(failed: FailedMessage, signal: AbortSignal): Promise<LaterOutcome> {
    const { topic, partition, message, runs } = failed;
    const run = new RunSignal();
    signal.addEventListener('abort', () => run.cut());
    if (signal.aborted) run.cut();
    const item = await this.read({ topic, partition, message, attempt: runs + 1 }, run);
    const begin = this.clock.now();
    if (!item.verdict) await this.handle([item], run);
    const { verdict } = item;
    if (!verdict) {
      this.events.handled(item, begin);
      return 'handled';
    }
    if (verdict.kind === 'again') return verdict;
    const { why, error } = verdict.death;
    if (this.options.settings.deadLetter === 'dq') return { final: error, why };
    const outcome = await this.bury(item, verdict.death);
    return outcome === 'handled' ? outcome : { ...outcome, error };
  }

  /** What cannot be read is dead at once; where the schema itself fails, that is the run's failure. */
  private read(delivery: Delivery, run: RunSignal): Item | Promise<Item> {
    const { message, topic } = delivery;
    const { value: bytes } = message;
    const decided = this.decided.get(message);
    if (decided) return { delivery, run, ...decided };
    const itemOf = (read: ReadValue): Item => {
      if (!(read instanceof KqError)) return { delivery, run, value: read.payload };
      const death: Death = { why: 'unreadable', error: read, runs: 0 };
      return { delivery, run, value: bytes, verdict: { kind: 'dead', death } };
    };
    const failed = (thrown: unknown): Item => {
      return { delivery, run, value: bytes, verdict: this.verdictOf(thrown, delivery) };
    };
    try {
      const read = readValue(this.options.topic, topic, bytes);
      return 'then' in read ? Promise.resolve(read).then(itemOf, failed) : itemOf(read);
    } catch (thrown) {
      return failed(thrown);
    }
  }

  /** What is not handled then has a verdict. */
  private async handle(items: readonly Item[], run: RunSignal): Promise<void> {
    if (items.length === 0) return;
    const results = await this.call(items, run);
    for (const [index, item] of items.entries()) {
      const failed = results[index];
      if (failed) item.verdict = this.verdictOf(failed.thrown, item.delivery);
    }
  }

  /** By message: absent where it is handled. */
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
    // Its transaction is committed: one more run would store its results twice.
    if (work?.hasCommitted(message.offset)) {
      this.events.handled(item, begin);
      this.events.tell('failedLate', item, { error, took });
      return 'handled';
    }
    // What our own signal ended is no failure: whoever has the partition then runs the message again.
    if (run.isCut) return { after: 0 };
    // Nor is what a rebalance ended, whatever its handler makes of that.
    if (work?.interrupted) {
      this.events.tell('failed', item, { error, took, after: AFTER_REBALANCE });
      return { after: AFTER_REBALANCE };
    }
    if (verdict.kind === 'dead') return this.bury(item, verdict.death);
    if (this.options.settings.throughDq) return this.defer(item, verdict, verdict);
    const { after } = verdict;
    this.events.tell('failed', item, { error, took, after });
    return { after };
  }

  private async bury(item: Item, death: Death): Promise<Outcome> {
    const { settings, group } = this.options;
    const { deadLetter } = settings;
    const { delivery } = item;
    if (deadLetter === 'drop') {
      this.events.tell('dropped', item, death);
      return 'handled';
    }
    if (deadLetter === undefined) return this.hold(item, death, new KqError('KQ_CONFIG', NO_PLACE));
    // The job's only run comes to the same, or to something better; then its dead letter has the error.
    if (deadLetter === 'dq')
      return this.defer(item, { kind: 'dead', death }, { error: death.error, after: 0, attempts: 1 });
    try {
      await this.options.store(deadLetter.topic, deadLetterOf(delivery, death, group, this.clock.wall()));
    } catch (thrown) {
      this.decide(item, { kind: 'dead', death });
      return this.hold(item, death, toError(thrown));
    }
    this.events.tell('died', item, { ...death, topic: deadLetter.topic });
    return 'handled';
  }

  private async defer(
    item: Item,
    verdict: Verdict,
    { error, after, attempts = this.options.settings.attempts - item.delivery.attempt }: Deferral,
  ): Promise<Outcome> {
    const { delays, group } = this.options;
    const { topic, partition, message, attempt: runs } = item.delivery;
    try {
      await delays!.retry(group, { topic, partition, message, runs }, after, attempts);
    } catch (thrown) {
      this.decide(item, verdict);
      const offered = defaultBackoff(runs);
      this.events.tell('notDeferred', item, { error, trouble: toError(thrown), after: offered });
      return { after: offered };
    }
    this.events.tell('deferred', item, { error, after });
    return 'handled';
  }

  private hold(item: Item, death: Death, trouble: Error): Outcome {
    const after = defaultBackoff(item.delivery.attempt);
    this.events.tell('held', item, { ...death, trouble, after });
    return { after };
  }

  private decide({ delivery, value }: Item, verdict: Verdict): void {
    this.decided.set(delivery.message, { verdict, value });
  }
}

/** `attempts`: of the job. */
interface Deferral {
  readonly error: Error;
  readonly after: number;
  readonly attempts?: number;
}

/** A promise of any library: a query that runs only once it is awaited is one, too. */
function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as PromiseLike<unknown> | null | undefined)?.then === 'function';
}

const OUTCOMES = ['Retry', 'Discard'];
const ONE_HANDLED: readonly Outcome[] = ['handled'];

const NO_PLACE =
  "nothing takes a message that cannot be handled: expected a `deadLetter`, a topic, 'dq' or 'drop'";
