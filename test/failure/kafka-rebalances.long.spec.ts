// Three members of one group on a real broker: they come, die and leave, and topics and partitions come, while messages flow.
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { Kafka, logLevel } from 'kafkajs';
import { KafkajsDriver } from 'nest-kq/src/driver/kafkajs/kafkajs-driver.js';
import { systemClock } from 'nest-handlers/time';
import { eventually, startKafka, type KafkaServer } from 'test-servers';
import { message, stored } from '../contract/log-facts.js';
import { nameOf, StreamGroup } from '../support/stream-facts.js';

const LIMIT = 240_000;
/** A look for new topics, a session that ends, and joining, on a machine that is busy. */
const PATIENCE = 90_000;
const KEYS_BY_PARTITION = 3;
/** Maximum messages waiting for their handler before more are sent. */
const AHEAD = 300;
const silent = { debug: () => undefined, warn: () => undefined, error: () => undefined };

let server: KafkaServer;
let driver: KafkajsDriver;
let stopSending = () => {};
beforeAll(async () => {
  server = await startKafka();
  driver = new KafkajsDriver({ brokers: [server.endpoint], clock: systemClock, log: silent });
}, 60_000);
afterEach(() => stopSending());
afterAll(async () => {
  await driver.close();
  await server.stop();
}, 60_000);

/** Sends a message of each key of each partition, round by round, until it is stopped. */
function sending(group: StreamGroup) {
  const targets: { readonly topic: string; readonly partition: number }[] = [];
  const producer = driver.producer();
  let sent = 0;
  let stopped = false;
  const round = async () => {
    for (const { topic, partition } of targets) {
      // By itself a key would move to another partition once there are more.
      const keys = Array.from({ length: KEYS_BY_PARTITION }, (_, n) => `${topic}/${partition}/${n}`);
      const messages = keys.map((key) => message('0', { key: Buffer.from(key), partition }));
      sent += stored(await producer.send(topic, messages)).length;
    }
  };
  const flow = async () => {
    while (!stopped) {
      await eventually('the members keep up', () => stopped || sent - group.count < AHEAD, PATIENCE);
      await round();
    }
    return sent;
  };
  let flowing: Promise<number> | undefined;
  stopSending = () => {
    stopped = true;
  };
  return {
    add(topic: string, partitions: readonly number[]) {
      targets.push(...partitions.map((partition) => ({ topic, partition })));
      flowing ??= flow();
    },
    /** Resolves with how many it has sent. */
    end() {
      stopSending();
      return flowing!;
    },
  };
}

it(
  'loses none, keeps each key in order, and repeats only what moved before it was committed',
  async () => {
    await driver.admin.createTopics([{ topic: 'flow.a', partitions: 4 }]);
    const group = new StreamGroup({ brokers: [server.endpoint], topics: '^flow[.]', took: 40 });
    const names = ['one', 'two', 'three'] as const;
    const held = () => names.map((name) => group.partitionsOf(name));
    const shared = (what: string, ...counts: readonly [number, number, number]) =>
      eventually(
        what,
        () => {
          const sizes = held().map(({ size }) => size);
          const all = new Set(held().flatMap((each) => [...each]));
          const count = counts.reduce((sum, each) => sum + each, 0);
          return all.size === count && sizes.every((size, index) => size === counts[index]);
        },
        PATIENCE,
      );
    const goesOn = (...by: readonly string[]) => {
      const from = group.runs.length;
      const goes = (name: string) =>
        group.runs.slice(from).some((run) => run.by === name && run.endedAt !== undefined);
      return eventually(`${by.join(' and ')} continue`, () => by.every(goes), PATIENCE);
    };

    const one = group.start('one');
    const two = group.start('two');
    await shared('two share what is there', 2, 2, 0);
    const flow = sending(group);
    flow.add('flow.a', [0, 1, 2, 3]);
    await goesOn('one', 'two');

    const kafka = new Kafka({ brokers: [server.endpoint], logLevel: logLevel.NOTHING });
    const admin = kafka.admin();
    await admin.createPartitions({ topicPartitions: [{ topic: 'flow.a', count: 6 }] });
    await admin.disconnect();
    await driver.admin.createTopics([{ topic: 'flow.b', partitions: 3 }]);
    flow.add('flow.a', [4, 5]);
    flow.add('flow.b', [0, 1, 2]);
    await eventually(
      'two share what came',
      () => group.partitionsOf('one').size + group.partitionsOf('two').size === 9,
      PATIENCE,
    );
    await goesOn('one', 'two');

    const three = group.start('three');
    await shared('a third one gets its share', 3, 3, 3);
    await goesOn(...names);

    one.child.kill('SIGKILL');
    await one.ended;
    group.gone('one');
    await eventually(
      'the others have what the dead one had',
      () => group.partitionsOf('two').size + group.partitionsOf('three').size === 9,
      PATIENCE,
    );
    await goesOn('two', 'three');

    const leaving = new Map([...group.partitionsOf('two')].map((place) => [place, group.stay('two', place)]));
    two.child.stdin.write('leave\n');
    await two.ended;
    expect(two.child.exitCode).toBe(0);
    await shared('the last one has all', 0, 0, 9);
    await goesOn('three');

    const sent = await flow.end();
    await eventually('all is handled', () => group.count === sent, PATIENCE);
    three.child.stdin.write('leave\n');
    await three.ended;

    expect(group.count).toBe(sent); // lost 0
    expect(group.outOfOrder).toEqual([]);
    // None is repeated by a process that has kept its partition meanwhile.
    const unexplained = group.repeats.filter(({ run, before }) =>
      before.some(({ by, stay }) => by === run.by && stay === run.stay),
    );
    expect(unexplained).toEqual([]);
    // Who leaves in order has committed all that it handled.
    const ofLeaver = group.repeats.filter(({ before }) =>
      before.some((run) => run.by === 'two' && leaving.get(nameOf(run)) === run.stay),
    );
    expect(ofLeaver).toEqual([]);
    const committed = [...(await commits('flow.a')), ...(await commits('flow.b'))];
    expect(committed.reduce((sum, each) => sum + each, 0)).toBe(sent);
  },
  LIMIT,
);

async function commits(topic: string): Promise<number[]> {
  return (await driver.admin.committed('flow', topic)).map(({ offset = 0n }) => Number(offset));
}
