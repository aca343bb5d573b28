import { findConfluent, percentile } from 'test-servers';
import { row } from '../figures.js';
import { withBroker, type Broker } from '../kafka/broker.js';
import type { LibraryName } from '../kafka/libraries.js';
import { consumeRound, fillTopic, KEYS, latencyRound, pushRound } from '../kafka/rounds.js';
import type { Measure, Row, Settings, Target, Unit } from '../measure.js';
import { alternate, alternateAll, type Rounds } from '../rounds.js';

const CALLERS = 100;
const OURS: LibraryName = 'nest-kq';

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
type Peer = readonly [library: LibraryName, target?: Target | undefined];

async function pushes(broker: Broker, { rounds, pick }: Settings): Promise<Row[]> {
  const { endpoint } = broker;
  const push = (count: number, callers: number) => async (library: LibraryName) => {
    const place = { library, endpoint, topic: await broker.newTopic() };
    const { rate } = await pushRound(place, callers > 1 && library === OURS ? 10 * count : count, callers);
    return rate;
  };
  return [
    ...(await compare(`pushes by ${CALLERS} callers`, rounds(3), push(pick(10_000, 1_000), CALLERS), [
      ['kafkajs, eachMessage', { of: 'ratio', least: 10 }],
      ['Nest transporter'],
    ])),
    ...(await compare('pushes one by one', rounds(3), push(pick(3_000, 300), 1), [
      ['kafkajs, eachMessage'],
      ['Nest transporter'],
    ])),
  ];
}

async function consumption(broker: Broker, { rounds, pick }: Settings): Promise<Row[]> {
  const { endpoint } = broker;
  const count = pick(200_000, 20_000);
  const topic = await filled(broker, count);
  const consume = async (library: LibraryName) =>
    (await consumeRound({ library, endpoint, topic }, count, 0)).rate;
  return compare('handlers that only count', rounds(3), consume, [
    ['kafkajs, eachMessage', { of: 'ratio', least: 0.7 }],
    ['kafkajs, eachBatch'],
    ['Nest transporter'],
    ...confluent({ of: 'ratio', most: 2 }),
  ]);
}

/** The driver of nest-kq for Confluent's client, where `npm run confluent` has built that. */
function confluent(target?: Target): Peer[] {
  return findConfluent() === undefined ? [] : [['nest-kq, Confluent', target]];
}

/** The transporter takes one message at a time, so it gets fewer. */
async function slowHandlers(broker: Broker, { rounds, pick }: Settings): Promise<Row[]> {
  const { endpoint } = broker;
  const [many, few] = [pick(50_000, 10_000), pick(1_000, 200)];
  const [ours, theirs] = [await filled(broker, many), await filled(broker, few)];
  const consume = async (library: LibraryName) => {
    const [topic, count] = library === OURS ? [ours, many] : [theirs, few];
    return (await consumeRound({ library, endpoint, topic }, count, 5)).rate;
  };
  const what = `handlers of 5 ms, ${KEYS.toLocaleString('en-US')} keys`;
  return compare(what, rounds(3), consume, [['Nest transporter', { of: 'ratio', least: 100 }]]);
}

async function filled(broker: Broker, count: number): Promise<string> {
  const topic = await broker.newTopic();
  await fillTopic({ library: OURS, endpoint: broker.endpoint, topic }, count);
  return topic;
}

async function latency(broker: Broker, { rounds, pick }: Settings): Promise<Row[]> {
  const load = { rate: 500, seconds: pick(10, 2) };
  const besideName: LibraryName = 'kafkajs, eachMessage';
  const round = (library: LibraryName) => async () =>
    latencyRound({ library, endpoint: broker.endpoint, topic: await broker.newTopic() }, load);
  const { ours, peer } = await alternate(rounds(3), { ours: round(OURS), peer: round(besideName) });
  const at = (part: number, rounds: Rounds<Float64Array>) =>
    rounds.map((samples) => percentile(samples, part));
  return [0.5, 0.99].map((part) =>
    row({
      what: `push to handler at ${load.rate}/s: p${100 * part}`,
      unit: 'ms',
      ours: at(part, ours),
      beside: at(part, peer),
      besideName,
      ...(part === 0.99 && { target: { of: 'ratio', most: 1.5 } }),
    }),
  );
}

/** Compares ours with each of the others. */
async function compare(
  what: string,
  rounds: number,
  measure: (library: LibraryName) => Promise<number>,
  peers: readonly Peer[],
): Promise<Row[]> {
  const libraries = [OURS, ...peers.map(([library]) => library)];
  const values = await alternateAll(rounds, libraries, measure);
  const unit: Unit = 'messages/s';
  return peers.map(([besideName, target]) =>
    row({
      what,
      unit,
      ours: values[OURS]!,
      beside: values[besideName]!,
      besideName,
      ...(target && { target }),
    }),
  );
}
