/** Messages waiting in nest-dq. */
import { DqError, Discard, Retry, type DelayedJob, type DqConsumer, type DqProducer } from 'nest-dq';
import type { DelayedPush } from '../api/message.js';
import type { Consuming, Delays, FailedMessage, Later, LaterOutcome, RunLater } from '../delays/delays.js';
import type { LogAdmin } from '../driver/driver.js';
import type { OutgoingMessage } from '../driver/message.js';
import { KqError, show, toError } from '../errors.js';
import {
  failureOf,
  pushOf,
  storedFailure,
  storedPush,
  type StoredFailure,
  type StoredPush,
} from './stored-message.js';
import { tubeOfPushes, tubeOfRetries } from './tubes.js';

/** Max attempts of a failing push: enough for some days. */
const PUSH_ATTEMPTS = 100;
/** Max concurrent pushes of one process. */
const PUSHES = 100;

export interface DqParts {
  readonly producer: DqProducer;
  readonly consumer: DqConsumer;
  /** Reads messages too large for a job. */
  readonly admin: Pick<LogAdmin, 'read'>;
  /** Name of the Kafka cluster. */
  readonly cluster: string | undefined;
}

export class DqDelays implements Delays {
  constructor(private readonly parts: DqParts) {}

  async push(topic: string, message: OutgoingMessage, when: Later): Promise<DelayedPush> {
    const { producer, cluster } = this.parts;
    const tube = tubeOfPushes(cluster);
    const payload = storedPush(topic, message);
    const options = { attempts: PUSH_ATTEMPTS };
    try {
      const receipt =
        'at' in when
          ? await producer.at(tube, payload, when.at, options)
          : await producer.delay(tube, payload, when.delay, options);
      const { id, ref, dueAt } = receipt;
      return { topic, job: { tube: receipt.tube, id, ref, dueAt } };
    } catch (thrown) {
      if (codeOf(thrown) === 'DQ_PAST_TIME') throw past('at' in when ? when.at : undefined, thrown);
      throw meant(thrown, `nest-dq cannot take a message of ${topic}`);
    }
  }

  async retry(group: string, failed: FailedMessage, after: number, attempts: number): Promise<void> {
    const { producer, cluster } = this.parts;
    const { topic, partition, message } = failed;
    const tube = tubeOfRetries(cluster, group);
    // A topic that is deleted and created again begins at offset 0: the timestamp tells its messages from the old ones.
    const key = `${topic}/${partition}/${message.offset}@${message.timestamp}`;
    // An existing job keeps its runs: a redelivered message must not start over.
    const options = { key, onDuplicate: 'keep', attempts } as const;
    const store = (whole: boolean) => producer.delay(tube, storedFailure(failed, whole), after, options);
    try {
      await store(true).catch((error: unknown) => {
        if (codeOf(error) === 'DQ_BAD_PAYLOAD') return store(false);
        throw error;
      });
    } catch (thrown) {
      throw meant(thrown, `nest-dq cannot take message ${message.offset} of ${topic}/${partition}`);
    }
  }

  consumePushes(push: (topic: string, message: OutgoingMessage) => Promise<unknown>): Promise<Consuming> {
    const handler = async (stored: StoredPush) => {
      await push(stored.topic, pushOf(stored));
    };
    return this.consume(tubeOfPushes(this.parts.cluster), handler, PUSHES);
  }

  consumeRetries(group: string, concurrency: number, run: RunLater): Promise<Consuming> {
    const handler = async (stored: StoredFailure, { attempt, signal }: DelayedJob) => {
      const failed = failureOf(stored) ?? (await this.read(stored));
      return told(await run({ ...failed, runs: stored.runs + attempt - 1 }, signal));
    };
    return this.consume(tubeOfRetries(this.parts.cluster, group), handler, concurrency);
  }

  private async consume<P>(
    tube: string,
    handler: (payload: P, job: DelayedJob) => Promise<unknown>,
    concurrency: number,
  ): Promise<Consuming> {
    try {
      return await this.parts.consumer.consume(tube, handler, { concurrency });
    } catch (thrown) {
      const cause = toError(thrown);
      const fact = `the tube ${tube} of nest-dq cannot be consumed (${cause.message})`;
      throw new KqError(
        'KQ_CONFIG',
        `${fact}: if this process runs no jobs, use KqDqModule.forRoot({ consume: false })`,
        { cause },
      );
    }
  }

  private async read({ topic, partition, offset, timestamp, runs }: StoredFailure): Promise<FailedMessage> {
    const message = await this.parts.admin.read(topic, partition, BigInt(offset));
    if (message?.timestamp === timestamp) return { topic, partition, message, runs };
    // Throwing would retry what can't come back.
    throw Discard.because(
      `message ${offset} of ${topic}/${partition} was too large for a job and is no longer in the log`,
    );
  }
}

/** Translates an outcome for nest-dq. */
function told(outcome: LaterOutcome): unknown {
  if (outcome === 'handled') return undefined;
  if ('after' in outcome) return Retry.after(outcome.after, outcome.error);
  // Thrown so that the dead letter has the last run's own error.
  if (outcome.why === 'attempts') throw outcome.final;
  return Discard.because(outcome.final.message);
}

const BAD: readonly string[] = ['DQ_BAD_DURATION', 'DQ_BAD_TIME', 'DQ_TOO_FAR', 'DQ_BAD_OPTION'];

/** Replaces nest-dq's error, which recommends an option that a push doesn't have. */
function past(at: unknown, cause: unknown): KqError {
  const fact = `\`at\` is ${show(at)}, which is in the past: expected a time in the future, or no \`at\` to push immediately`;
  return new KqError('KQ_BAD_MESSAGE', fact, { cause });
}

/** Translates an error of nest-dq to nest-kq's terms. */
function meant(thrown: unknown, fact: string): KqError {
  const error = toError(thrown);
  const code = codeOf(error);
  const details = { cause: error, indeterminate: error instanceof DqError && error.indeterminate };
  const told = `${fact}: ${error.message}`;
  if (code === 'DQ_BAD_PAYLOAD') return new KqError('KQ_TOO_LARGE', told, details);
  if (code === 'DQ_CLOSED') return new KqError('KQ_CLOSED', told, details);
  if (code === 'DQ_CONFIG' || code === 'DQ_BAD_TUBE') return new KqError('KQ_CONFIG', told, details);
  return new KqError(BAD.includes(code) ? 'KQ_BAD_MESSAGE' : 'KQ_AWAY', told, details);
}

function codeOf(error: unknown): string {
  return error instanceof DqError ? error.code : show(error);
}
