import type { RunSignal } from '../consumer/run-signal.js';
import type { Delivery, Ran } from '../consumer/topic-work.js';
import type { LogMessage } from '../driver/message.js';
import type { Clock } from 'nest-handlers/time';
import { waitingLetterOf, type WaitingLetter } from './dead-letter.js';

/** Runs the messages of retry topics as those of the topics from which they came, each once its time has come. */
export class RetryRuns {
  /** Each stays the same object for all of its runs, as what became of it is remembered by that. */
  private readonly letters = new WeakMap<LogMessage, WaitingLetter>();

  constructor(
    private readonly clock: Clock,
    /** By retry topic, the one whose messages wait there. */
    private readonly topics: ReadonlyMap<string, string>,
    private readonly runOf: (deliveries: readonly Delivery[], run: RunSignal) => Ran,
  ) {}

  /** Gets messages one by one. One that is early is no run: it holds up nothing until its time. */
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
