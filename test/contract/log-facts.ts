// Every log, and what a spec does with it: topics of its own, producers and members that are closed after each fact.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect } from '@jest/globals';
import { keyOf } from 'nest-kq/src/driver/assignment.js';
import type {
  LogBatch,
  LogDriver,
  LogMember,
  LogProducer,
  MemberHandler,
  MemberIdentity,
  MemberOptions,
  ProducerOptions,
  Sent,
  Unavailable,
} from 'nest-kq/src/driver/driver.js';
import { MemberLost } from 'nest-kq/src/driver/driver.js';
import type {
  LogMessage,
  OutgoingMessage,
  PartitionOffset,
  TopicPartition,
} from 'nest-kq/src/driver/message.js';
import { KqError } from 'nest-kq/src/errors.js';
import { eventually } from 'test-servers';
import {
  confluentHarness,
  kafkajsHarness,
  memoryHarness,
  noteNotBuilt,
  type LogHarness,
} from './log-harness.js';

const HARNESSES: readonly (readonly [name: string, create: (() => Promise<LogHarness>) | undefined])[] = [
  ['memory', memoryHarness],
  ['Kafka by kafkajs', kafkajsHarness],
  ["Kafka by Confluent's client", confluentHarness],
];

/** States the same facts about every log. */
export function everyLog(facts: (log: LogUnderTest) => void): void {
  describe.each(HARNESSES)('the log in %s', (_name, createHarness) => {
    if (!createHarness) {
      return noteNotBuilt();
    }
    const log = new LogUnderTest();

    beforeAll(async () => {
      log.harness = await createHarness();
      log.driver = log.harness.open();
    }, 60_000);
    afterAll(() => log.harness.stop());

    beforeEach(() => log.begin());
    afterEach(() => log.end());

    facts(log);
  });
}

let facts = 0;

/** The topic is `log.topic` and the group `log.group` where none is named. */
export class LogUnderTest {
  harness!: LogHarness;
  driver!: LogDriver;
  topic!: string;
  group!: string;
  private ends: (() => Promise<void>)[] = [];

  async begin(): Promise<void> {
    this.topic = `orders.${facts++}`;
    this.group = `group.${facts++}`;
    await this.driver.admin.createTopics([{ topic: this.topic, partitions: 4 }]);
  }

  async end(): Promise<void> {
    for (const end of this.ends.splice(0)) await end();
  }

  producer(options?: ProducerOptions): LogProducer {
    const producer = this.driver.producer(options);
    this.ends.push(() => producer.close());
    return producer;
  }

  /** One more client, as another process has it. */
  other(): LogDriver {
    return this.harness.open();
  }

  async topicOf(partitions: number): Promise<string> {
    const topic = `other.${facts++}`;
    await this.driver.admin.createTopics([{ topic, partitions }]);
    return topic;
  }

  async send(...messages: readonly OutgoingMessage[]): Promise<readonly PartitionOffset[]> {
    return stored(await this.producer().send(this.topic, messages));
  }

  /** A member that has joined. */
  async join(over: Partial<MemberOptions> = {}): Promise<MemberUnderTest> {
    const member = this.member(over);
    await member.start();
    return member;
  }

  member(over: Partial<MemberOptions> = {}): MemberUnderTest {
    const options = {
      group: this.group,
      topics: [this.topic],
      from: 'first',
      heartbeatInterval: 100,
    } as const;
    const member = new MemberUnderTest(this.driver, { ...options, ...over });
    this.ends.push(() => member.stop());
    return member;
  }

  async committed(topic = this.topic): Promise<(bigint | undefined)[]> {
    return (await this.driver.admin.committed(this.group, topic)).map(({ offset }) => offset);
  }
}

/** A member that records all its callbacks. */
export class MemberUnderTest implements MemberHandler {
  readonly batches: LogBatch[] = [];
  /** `rejoining`, or the partitions with whether the member continued. */
  readonly rebalances: (string | { partitions: string[]; continued: boolean })[] = [];
  readonly failures: KqError[] = [];
  readonly confirmations: number[] = [];
  /** It was confirmed before it was assigned anything. */
  confirmedTooEarly = false;
  /** Called before it rejoins. */
  drain: () => Promise<unknown> = async () => undefined;
  /** As of the last report. */
  missing: readonly Unavailable[] = [];
  assignment: readonly TopicPartition[] = [];
  private readonly member: LogMember;

  constructor(
    driver: LogDriver,
    private readonly options: MemberOptions,
  ) {
    this.member = driver.member(options, this);
  }

  readonly start = () => this.member.start();
  readonly stop = (returns?: boolean) => this.member.stop(returns);
  readonly pause = (topic: string, partition: number) => this.member.pause(topic, partition);
  readonly resume = (topic: string, partition: number) => this.member.resume(topic, partition);

  /** True while it is in its group. */
  get isInGroup(): boolean {
    return this.member.identity !== undefined;
  }

  get identity(): MemberIdentity {
    const { identity } = this.member;
    if (!identity) throw new MemberLost(this.options.group);
    return identity;
  }

  readonly rejoin = (error: KqError) => this.member.rejoin(error);

  commit(topic: string, ...offsets: (readonly [partition: number, offset: bigint])[]): Promise<boolean> {
    return this.member.commit(offsets.map(([partition, offset]) => ({ topic, partition, offset })));
  }

  async rejoining(): Promise<void> {
    this.assignment = [];
    this.rebalances.push('rejoining');
    await this.drain();
  }

  assigned(assignment: readonly TopicPartition[], continued: boolean): void {
    this.assignment = assignment;
    this.rebalances.push({ partitions: assignment.map(keyOf), continued });
  }

  batch(batch: LogBatch): void {
    this.batches.push(batch);
  }

  unavailable(places: readonly Unavailable[]): void {
    this.missing = places;
  }

  failed(error: KqError): void {
    this.failures.push(error);
  }

  confirmed(until: number): void {
    this.confirmations.push(until);
    if (!this.rebalances.some((each) => typeof each === 'object')) this.confirmedTooEarly = true;
  }

  get partitions(): number[] {
    return this.assignment.map(({ partition }) => partition);
  }

  get messages(): LogMessage[] {
    return this.batches.flatMap(({ messages }) => messages);
  }

  get values(): string[] {
    return this.messages.map(({ value }) => String(value));
  }

  async receives(count: number): Promise<readonly LogMessage[]> {
    await eventually(`${count} messages come, after: ${this.values.slice(0, 20).join(', ')}`, () => {
      return this.messages.length >= count;
    });
    return this.messages;
  }

  async has(count: number): Promise<void> {
    await eventually(
      `the member has ${count} partitions, not ${this.assignment.map(keyOf).join(' ')}`,
      () => {
        return this.assignment.length === count && this.rebalances.at(-1) !== 'rejoining';
      },
    );
  }
}

export function message(value: string, over: Partial<OutgoingMessage> = {}): OutgoingMessage {
  return { key: null, value: Buffer.from(value), ...over };
}

/** Fails where a message was not stored. */
export function stored(sent: readonly Sent[]): readonly PartitionOffset[] {
  return sent.map((each) => {
    if (each instanceof KqError) throw each;
    return each;
  });
}

export function failing(code: string) {
  return expect.objectContaining({ name: 'KqError', code, message: expect.stringMatching(`^${code}: `) });
}
