import { percentile } from 'test-servers';
import { row } from '../figures.js';
import { withBroker, type Broker } from '../kafka/broker.js';
import type { StreamLibrary } from '../kafka/client.js';
import { kafkaJs } from '../kafka/kafka-js.js';
import { nestKq } from '../kafka/nest-kq.js';
import { consumeRound, filled, KEYS, latencyRound, pushRound } from '../kafka/rounds.js';
import { transporter } from '../kafka/transporter.js';
import type { Measure, Row, Settings, Target, Unit } from '../measure.js';
import { alternate } from '../rounds.js';

const CALLERS = 100;
const eachMessage = kafkaJs('eachMessage');
const eachBatch = kafkaJs('eachBatch');

export const kafka: Measure = {
  name: 'kafka',
  ours: 'nest-kq',
  title:
    'nest-kq beside plain kafkajs and the Kafka transporter of Nest: one broker, 8 partitions, 200 bytes, stored on all replicas in sync',
  run: (settings) =>
    withBroker(async (broker) => [
      ...(await pushes(broker, settings)),
      ...(await consumption(broker, settings)),
      ...(await slowHandlers(broker, settings)),
      ...(await latency(broker, settings)),
    ]),
};

/** A library that ours is compared with, and the target for our ratio to it. */
type Peer = readonly [library: StreamLibrary, target?: Target];

async function pushes(broker: Broker, { rounds, pick }: Settings): Promise<Row[]> {
  const push = (count: number, callers: number) => (library: StreamLibrary) =>
    pushRound(broker, library, callers === 1 ? count : manyOf(library, count), callers);
  const manyOf = (library: StreamLibrary, count: number) => (library === nestKq ? 10 * count : count);
  return [
    ...(await compare(`pushes by ${CALLERS} callers`, rounds(3), push(pick(10_000, 1_000), CALLERS), [
      [eachMessage, { of: 'ratio', least: 10 }],
      [transporter],
    ])),
    ...(await compare('pushes one by one', rounds(3), push(pick(3_000, 300), 1), [
      [eachMessage],
      [transporter],
    ])),
  ];
}

async function consumption(broker: Broker, { rounds, pick }: Settings): Promise<Row[]> {
  const count = pick(200_000, 20_000);
  const topic = await filled(broker, nestKq, count);
  const consume = (library: StreamLibrary) => consumeRound(broker, library, topic, count, 0);
  return compare('handlers that only count', rounds(3), consume, [
    [eachMessage, { of: 'ratio', least: 0.7 }],
    [eachBatch],
    [transporter],
  ]);
}

/** The transporter takes one message at a time, so it gets fewer. */
async function slowHandlers(broker: Broker, { rounds, pick }: Settings): Promise<Row[]> {
  const [many, few] = [pick(50_000, 10_000), pick(1_000, 200)];
  const [ours, theirs] = [await filled(broker, nestKq, many), await filled(broker, nestKq, few)];
  const consume = (library: StreamLibrary) =>
    library === nestKq
      ? consumeRound(broker, library, ours, many, 5)
      : consumeRound(broker, library, theirs, few, 5);
  const what = `handlers of 5 ms, ${KEYS.toLocaleString('en-US')} keys`;
  return compare(what, rounds(3), consume, [[transporter, { of: 'ratio', least: 100 }]]);
}

async function latency(broker: Broker, { rounds, pick }: Settings): Promise<Row[]> {
  const load = { rate: 500, seconds: pick(10, 2) };
  const contenders = { ours: nestKq, peer: eachMessage };
  const { ours, peer } = await alternate(rounds(3), {
    ours: () => latencyRound(broker, contenders.ours, load),
    peer: () => latencyRound(broker, contenders.peer, load),
  });
  const at = (part: number, samples: readonly Float64Array[]) =>
    samples.map((each) => percentile(each, part));
  return [0.5, 0.99].map((part) =>
    row({
      what: `push to handler at ${load.rate}/s: p${100 * part}`,
      unit: 'ms',
      ours: at(part, ours),
      beside: at(part, peer),
      besideName: contenders.peer.name,
      ...(part === 0.99 && { target: { of: 'ratio', most: 1.5 } }),
    }),
  );
}

/** Ours beside each of the others. */
async function compare(
  what: string,
  rounds: number,
  measure: (library: StreamLibrary) => Promise<number>,
  peers: readonly Peer[],
): Promise<Row[]> {
  const libraries = [nestKq, ...peers.map(([library]) => library)];
  const contenders = Object.fromEntries(libraries.map((each) => [each.name, () => measure(each)]));
  const values: Readonly<Record<string, readonly number[]>> = await alternate(rounds, contenders);
  const unit: Unit = 'messages/s';
  return peers.map(([{ name }, target]) =>
    row({
      what,
      unit,
      ours: values[nestKq.name]!,
      beside: values[name]!,
      besideName: name,
      ...(target && { target }),
    }),
  );
}
