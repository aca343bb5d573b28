import type { RunSignal } from '../consumer/run-signal.js';
import type { Delivery, Ran } from '../consumer/topic-work.js';
import type { LogMessage } from '../driver/message.js';
import type { Clock } from 'nest-handlers/time';
import { waitingLetterOf, type WaitingLetter } from './dead-letter.js';

/** Runs the messages of retry topics as messages of their original topics, each once it is due. */
export class RetryRuns {
  /** Each letter stays the same object across its runs, since its verdict is keyed by identity. */
  private readonly letters = new WeakMap<LogMessage, WaitingLetter>();

  constructor(
    private readonly clock: Clock,
    /** By retry topic, the topic whose messages wait there. */
    private readonly topics: ReadonlyMap<string, string>,
    private readonly runOf: (deliveries: readonly Delivery[], run: RunSignal) => Ran,
  ) {}

  /** Takes one message at a time. An early one isn't run, and blocks nothing until it is due. */
  run([delivery]: readonly Delivery[], run: RunSignal): Ran {
    const { topic, message } = delivery!;
    const letter = this.letters.get(message) ?? waitingLetterOf(delivery!);
    this.letters.set(message, letter);
    const wait = letter.due - this.clock.wall();
    if (wait > 0) return [{ after: wait }];
    const { partition, runs } = letter;
    const origin = this.topics.get(topic)!;
    return this.runOf([{ topic: origin, partition, message: letter.message, attempt: runs + 1 }], run);
  }
}
