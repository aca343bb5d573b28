/** Brings dead letters back to the topics where they were. */
import { topicName, type Topic } from '../api/topic.js';
import type { LogBatch, LogDriver, LogMember, MemberHandler } from '../driver/driver.js';
import type { LogMessage, OutgoingMessage, TopicPartition } from '../driver/message.js';
import { KqError, toError } from '../errors.js';
import { DEAD_LETTER_HEADERS, withoutLetter } from './dead-letter.js';

export interface ReplayOptions {
  /** Where the letters are. */
  readonly topic: string | Topic;
  /** Remembers how far they were replayed: a second replay goes on there. @default the topic's name and `.replay` */
  readonly group?: string;
  /** Resolves once the message is stored, in the order of the calls; rejects if it is not, or that is not known. */
  store(topic: string, message: OutgoingMessage): Promise<unknown>;
}

/** What a replay has done. */
export interface Replayed {
  /** Letters that are in their topics again. */
  readonly replayed: number;
  /** Messages that are no letters, and were passed over. */
  readonly foreign: number;
}

/**
 * Stores all letters that the topic has now where they were, with key, value and headers as before, and remembers how far it
 * has come. Every group of those topics gets them again. What dies once more meanwhile is for the next replay. Replays that run at
 * the same time share the letters.
 *
 * Rejects with what `store` rejects with: the letters before that one are replayed, and the next replay goes on with it; those
 * behind it may then come twice. Also with `KQ_UNKNOWN_TOPIC`, `KQ_AWAY`, `KQ_REFUSED` and `KQ_CLOSED`; but it waits while no
 * broker can let it into the group. After a crash or a rebalance, too, a letter may come twice.
 */
export async function replayDeadLetters(driver: LogDriver, options: ReplayOptions): Promise<Replayed> {
  const topic = topicName(options.topic);
  const { group = `${topic}.replay` } = options;
  const ends = await driver.admin.ends(topic);
  const replay = new Replay(
    new Map(ends.map(({ partition, first, end }) => [partition, { first, end }])),
    async () =>
      new Map((await driver.admin.committed(group, topic)).map((each) => [each.partition, each.offset])),
    (origin, message) => options.store(origin, message),
  );
  const member = driver.member({ group, topics: [topic], from: 'first' }, replay);
  try {
    return await replay.through(member);
  } finally {
    await member.stop();
  }
}

class Replay implements MemberHandler {
  private member: LogMember | undefined;
  /** Partitions that are assigned and not through. */
  private left = new Set<number>();
  /** Grows with each assignment. */
  private assignment = 0;
  /** One act after the other. */
  private acting: Promise<void> = Promise.resolve();
  private replayed = 0;
  private foreign = 0;
  private finish = () => {};
  private fail: (error: Error) => void = () => {};

  constructor(
    /** As they were at the beginning. */
    private readonly ends: ReadonlyMap<number, { readonly first: bigint; readonly end: bigint }>,
    private readonly committed: () => Promise<ReadonlyMap<number, bigint | undefined>>,
    private readonly store: ReplayOptions['store'],
  ) {}

  async through(member: LogMember): Promise<Replayed> {
    this.member = member;
    const ended = new Promise<void>((resolve, reject) => {
      this.finish = resolve;
      this.fail = reject;
    });
    await Promise.all([member.start(), ended]);
    return { replayed: this.replayed, foreign: this.foreign };
  }

  async rejoining(): Promise<void> {
    this.assignment++;
  }

  confirmed(): void {
    // What it commits is refused once its partitions are others'.
  }

  assigned(places: readonly TopicPartition[]): void {
    this.left = new Set(places.map(({ partition }) => partition));
    // A partition in which nothing is left gives no batch.
    this.act(async () => {
      const committed = await this.committed();
      for (const partition of this.left) {
        const { first, end } = this.endsOf(partition);
        if ((committed.get(partition) ?? first) >= end) this.left.delete(partition);
      }
    });
  }

  batch(batch: LogBatch): void {
    this.member?.pause(batch.topic, batch.partition);
    this.act(() => this.take(batch));
  }

  /** It joins again by itself, which may help only where no broker was in reach. */
  failed(error: KqError): void {
    if (error.code !== 'KQ_AWAY') this.fail(error);
  }

  /** What was begun under an assignment ends with it: its letters come again. */
  private act(run: () => Promise<void>): void {
    const { assignment } = this;
    this.acting = this.acting.then(async () => {
      if (assignment !== this.assignment) return;
      try {
        await run();
        if (assignment === this.assignment && this.left.size === 0) this.finish();
      } catch (error) {
        this.fail(toError(error));
      }
    });
  }

  private async take({ topic, partition, messages, next }: LogBatch): Promise<void> {
    const { end } = this.endsOf(partition);
    const letters = messages.filter(({ offset }) => offset < end);
    const results = await Promise.allSettled(letters.map((letter) => this.bringBack(letter)));
    const failed = results.findIndex(({ status }) => status === 'rejected');
    const offset = letters[failed]?.offset ?? (next < end ? next : end);
    await this.member?.commit([{ topic, partition, offset }]);
    for (const result of results) if (result.status === 'rejected') throw result.reason;
    if (next >= end) this.left.delete(partition);
    else this.member?.resume(topic, partition);
  }

  private async bringBack({ key, value, headers }: LogMessage): Promise<void> {
    const origin = [headers[DEAD_LETTER_HEADERS.topic]].flat()[0];
    if (!origin) {
      this.foreign++;
      return;
    }
    await this.store(origin.toString(), { key, value, headers: withoutLetter(headers) });
    this.replayed++;
  }

  private endsOf(partition: number): { readonly first: bigint; readonly end: bigint } {
    return this.ends.get(partition) ?? { first: 0n, end: 0n }; // added since
  }
}
