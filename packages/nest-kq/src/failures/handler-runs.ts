/** Calls the handler of a topic, and finds a place for what it cannot handle. */
import { isOutcome } from '../api/outcome.js';
import { readValue, type ReadValue } from '../api/read-value.js';
import type { KqMessage } from '../api/received.js';
import type { Topic } from '../api/topic.js';
import type { Delivery, Outcome } from '../consumer/topic-work.js';
import type { Delays, FailedMessage, LaterOutcome } from '../delays/delays.js';
import type { LogMessage, OutgoingMessage } from '../driver/message.js';
import { KqError, toError } from '../errors.js';
import type { Clock, Timer } from '../time/clock.js';
import { alike, batchResults, type Failed } from './batch-results.js';
import { deadLetterOf } from './dead-letter.js';
import { defaultBackoff, type FailureSettings } from './failure-options.js';
import { ReceivedMessage } from './received-message.js';
import { verdictOf, type Death, type Verdict } from './verdict.js';

/** Gets value and message; of batches, the list of each. It may throw, return or resolve with an outcome. */
export type MessageHandler = (value: any, message: any) => unknown;

/** Who is told what became of messages. None of it may throw. */
export interface FailureEvents {
  /** It runs again after so many milliseconds. */
  failed(delivery: Delivery, error: Error, after: number): void;
  /** Its letter is stored in that topic. */
  died(delivery: Delivery, death: Death, topic: string): void;
  /** It is gone, as the handler's `deadLetter` is `'drop'`. */
  dropped(delivery: Delivery, death: Death): void;
  /** A job of nest-dq runs it again after so many milliseconds. */
  deferred(delivery: Delivery, error: Error, after: number): void;
  /** nest-dq could not take it. It holds its order, and is offered again after so many milliseconds. */
  notDeferred(delivery: Delivery, error: Error, trouble: Error, after: number): void;
  /** Nothing could store it. It holds its order, and is tried again after so many milliseconds. */
  held(delivery: Delivery, death: Death, error: Error, after: number): void;
  /** The handler goes on although its `timeout` has been over for a while; the messages may run twice at the same time. */
  overran(deliveries: readonly Delivery[]): void;
}

export interface HandlerRunsOptions {
  readonly group: string;
  /** Gives format and schema of the values. */
  readonly topic: string | Topic;
  readonly handler: MessageHandler;
  /** The handler gets all messages of a run by one call. */
  readonly batches: boolean;
  readonly settings: FailureSettings;
  readonly events: FailureEvents;
  /** Resolves once the letter is stored; rejects if it is not, or that is not known. */
  store(topic: string, letter: OutgoingMessage): Promise<unknown>;
  /** Where `settings` name nest-dq. */
  readonly delays?: Pick<Delays, 'retry'>;
}

/** Milliseconds. For so long a run waits for its handler after its signal has told that time is over. */
const GRACE = 5_000;

interface Readable {
  readonly delivery: Delivery;
  readonly value: unknown;
}

export class HandlerRuns {
  /** What became of those that wait until they are stored elsewhere: no handler gets them here any more. */
  private readonly decided = new WeakMap<LogMessage, Verdict>();

  constructor(
    private readonly clock: Clock,
    private readonly options: HandlerRunsOptions,
  ) {}

  /** As the consumer calls it: resolves with an outcome for each message, in their order, and never rejects. */
  async run(deliveries: readonly Delivery[], signal: AbortSignal): Promise<readonly Outcome[]> {
    const verdicts = new Map<Delivery, Verdict>();
    const readable: Readable[] = [];
    for (const delivery of deliveries) {
      const read = await this.read(delivery);
      if ('kind' in read) verdicts.set(delivery, read);
      else readable.push(read);
    }
    const results = readable.length > 0 ? await this.handle(readable, signal) : [];
    for (const [index, { delivery }] of readable.entries()) {
      const failed = results[index];
      if (failed) verdicts.set(delivery, this.verdictOf(failed.thrown, delivery));
    }
    const outcomes = deliveries.map((delivery) => this.outcomeOf(delivery, verdicts.get(delivery), signal));
    return Promise.all(outcomes);
  }

  /** A run of a message that came back from nest-dq. Never rejects. */
  async runLater(failed: FailedMessage, signal: AbortSignal): Promise<LaterOutcome> {
    const { topic, partition, message, runs } = failed;
    const delivery = { topic, partition, message, attempt: runs + 1 };
    const read = await this.read(delivery);
    let verdict: Verdict | undefined;
    if ('kind' in read) verdict = read;
    else {
      const [thrown] = await this.handle([read], signal);
      verdict = thrown && this.verdictOf(thrown.thrown, delivery);
    }
    if (!verdict) return 'handled';
    if (verdict.kind === 'again') return verdict;
    const { why, error } = verdict.death;
    if (this.options.settings.deadLetter === 'dq') return { final: error, why };
    const outcome = await this.bury(delivery, verdict.death);
    return outcome === 'handled' ? outcome : { ...outcome, error };
  }

  /** What cannot be read is dead at once; where the schema itself fails, that is the run's failure. */
  private async read(delivery: Delivery): Promise<Readable | Verdict> {
    const { message, topic } = delivery;
    const decided = this.decided.get(message);
    if (decided) return decided;
    let read: ReadValue;
    try {
      read = await readValue(this.options.topic, topic, message.value);
    } catch (thrown) {
      return this.verdictOf(thrown, delivery);
    }
    if (!(read instanceof KqError)) return { delivery, value: read.payload };
    return { kind: 'dead', death: { why: 'unreadable', error: read, runs: 0 } };
  }

  /** By message: absent where it is handled. */
  private async handle(
    readable: readonly Readable[],
    signal: AbortSignal,
  ): Promise<readonly (Failed | undefined)[]> {
    const { handler, batches, settings } = this.options;
    try {
      const returned = await this.timed(readable, signal, (within) => {
        const messages = readable.map(({ delivery, value }): KqMessage => {
          return new ReceivedMessage(delivery, value, settings.attempts, within);
        });
        if (!batches) return handler(readable[0]!.value, messages[0]);
        const values = readable.map(({ value }) => value);
        return handler(values, messages);
      });
      if (batches) return batchResults(returned, readable.length);
      return [isOutcome(returned) ? { thrown: returned } : undefined];
    } catch (thrown) {
      return alike({ thrown }, readable.length);
    }
  }

  private async timed(
    readable: readonly Readable[],
    signal: AbortSignal,
    call: (signal: AbortSignal) => unknown,
  ): Promise<unknown> {
    const { timeout } = this.options.settings;
    if (timeout === undefined) return call(signal);
    const { topic } = readable[0]!.delivery;
    const fact = `the handler of ${topic} took longer than its timeout of ${timeout} ms`;
    const error = new KqError('KQ_TIMEOUT', fact);
    const late = new AbortController();
    const within = AbortSignal.any([signal, late.signal]);
    let timer: Timer | undefined;
    const given = new Promise<never>((_, reject) => {
      timer = this.clock.after(timeout, () => {
        late.abort(error);
        // Its order waits for it, as long as it may be about to end.
        timer = this.clock.after(GRACE, () => {
          this.options.events.overran(readable.map(({ delivery }) => delivery));
          reject(error);
        });
      });
    });
    const handled = (async () => call(within))();
    try {
      const returned = await Promise.race([handled, given]);
      if (!late.signal.aborted) return returned;
    } catch (thrown) {
      if (!late.signal.aborted) throw thrown;
    } finally {
      timer?.cancel();
    }
    throw error; // what it says to the signal is too late
  }

  private verdictOf(thrown: unknown, { attempt }: Delivery): Verdict {
    return verdictOf(thrown, attempt, this.options.settings);
  }

  private async outcomeOf(
    delivery: Delivery,
    verdict: Verdict | undefined,
    signal: AbortSignal,
  ): Promise<Outcome> {
    if (!verdict) return 'handled';
    // What our own signal ended is no failure: whoever has the partition then runs the message again.
    if (signal.aborted) return { after: 0 };
    if (verdict.kind === 'dead') return this.bury(delivery, verdict.death);
    if (this.options.settings.throughDq) return this.defer(delivery, verdict, verdict);
    this.options.events.failed(delivery, verdict.error, verdict.after);
    return { after: verdict.after };
  }

  private async bury(delivery: Delivery, death: Death): Promise<Outcome> {
    const { settings, events, group } = this.options;
    const { deadLetter } = settings;
    if (deadLetter === 'drop') {
      events.dropped(delivery, death);
      return 'handled';
    }
    if (deadLetter === undefined) return this.hold(delivery, death, new KqError('KQ_CONFIG', NO_PLACE));
    // The job's only run comes to the same, or to something better; then its dead letter has the error.
    if (deadLetter === 'dq')
      return this.defer(delivery, { kind: 'dead', death }, { error: death.error, after: 0, attempts: 1 });
    try {
      await this.options.store(deadLetter.topic, deadLetterOf(delivery, death, group, this.clock.wall()));
    } catch (thrown) {
      this.decided.set(delivery.message, { kind: 'dead', death });
      return this.hold(delivery, death, toError(thrown));
    }
    events.died(delivery, death, deadLetter.topic);
    return 'handled';
  }

  private async defer(
    delivery: Delivery,
    verdict: Verdict,
    { error, after, attempts = this.options.settings.attempts - delivery.attempt }: Deferral,
  ): Promise<Outcome> {
    const { delays, group, events } = this.options;
    const { topic, partition, message, attempt: runs } = delivery;
    try {
      await delays!.retry(group, { topic, partition, message, runs }, after, attempts);
    } catch (thrown) {
      this.decided.set(message, verdict);
      const offered = defaultBackoff(runs);
      events.notDeferred(delivery, error, toError(thrown), offered);
      return { after: offered };
    }
    events.deferred(delivery, error, after);
    return 'handled';
  }

  private hold(delivery: Delivery, death: Death, error: Error): Outcome {
    const after = defaultBackoff(delivery.attempt);
    this.options.events.held(delivery, death, error, after);
    return { after };
  }
}

/** `attempts`: of the job. */
interface Deferral {
  readonly error: Error;
  readonly after: number;
  readonly attempts?: number;
}

const NO_PLACE =
  "nothing takes a message that cannot be handled: expected a `deadLetter`, a topic, 'dq' or 'drop'";
