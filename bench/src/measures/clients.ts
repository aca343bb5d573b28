import { percentile } from 'test-servers';
import { row } from '../figures.js';
import { withBroker, type Broker } from '../kafka/broker.js';
import { optionalLibraries, type LibraryName } from '../kafka/libraries.js';
import { consumeRound, fillTopic, latencyRound, pushRound, type Speed } from '../kafka/rounds.js';
import type { Measure, Row, Settings } from '../measure.js';
import { alternateAll, type Rounds } from '../rounds.js';

const CALLERS = 100;
const OURS: LibraryName = 'nest-kq';

/** Decides about the drivers of nest-kq. */
export const clients: Measure = {
  name: 'clients',
  ours: 'nest-kq',
  title:
    "nest-kq by kafkajs beside its driver for Confluent's client and plain @platformatic/kafka, as in kafka",
  run: async (settings) => {
    const others = optionalLibraries();
    if (others.length === 0)
      throw new Error(
        'no other client is here: npm run confluent, or PLATFORMATIC_KAFKA=<folder of the package>',
      );
    return withBroker(async (broker) => [
      ...(await pushes(others, broker, settings)),
      ...(await consumption(others, broker, settings)),
      ...(await latency(others, broker, settings)),
    ]);
  },
};

async function pushes(
  others: readonly LibraryName[],
  { endpoint, newTopic }: Broker,
  { rounds, pick }: Settings,
): Promise<Row[]> {
  const count = pick(20_000, 2_000);
  const values = await alternateAll(rounds(5), [OURS, ...others], async (library) => {
    const place = { library, endpoint, topic: await newTopic() };
    // Who gathers would be done before it has warmed up.
    return pushRound(place, library === '@platformatic/kafka' ? count : 5 * count, CALLERS);
  });
  return speedRows(`pushes by ${CALLERS} callers`, others, values);
}

async function consumption(
  others: readonly LibraryName[],
  { endpoint, newTopic }: Broker,
  { rounds, pick }: Settings,
): Promise<Row[]> {
  const count = pick(200_000, 20_000);
  const topic = await newTopic();
  await fillTopic({ library: OURS, endpoint, topic }, count);
  const values = await alternateAll(rounds(5), [OURS, ...others], (library) =>
    consumeRound({ library, endpoint, topic }, count, 0),
  );
  return speedRows('handlers that only count', others, values);
}

async function latency(
  others: readonly LibraryName[],
  { endpoint, newTopic }: Broker,
  { rounds, pick }: Settings,
): Promise<Row[]> {
  const load = { rate: 500, seconds: pick(10, 2) };
  const values = await alternateAll(rounds(5), [OURS, ...others], async (library) =>
    latencyRound({ library, endpoint, topic: await newTopic() }, load),
  );
  return [0.5, 0.99].flatMap((part) =>
    others.map((besideName) => {
      const at = (library: LibraryName) => values[library]!.map((samples) => percentile(samples, part));
      const what = `push to handler at ${load.rate}/s: p${100 * part}`;
      return row({ what, unit: 'ms', ours: at(OURS), beside: at(besideName), besideName });
    }),
  );
}

type Values<T> = Readonly<Record<string, Rounds<T>>>;

function speedRows(what: string, others: readonly LibraryName[], values: Values<Speed>): Row[] {
  const figures = [
    ['messages/s', 'rate'],
    ['µs/message', 'cpu'],
  ] as const;
  return figures.flatMap(([unit, figure]) =>
    others.map((besideName) => {
      const of = (library: LibraryName) => values[library]!.map((speed) => speed[figure]);
      return row({ what, unit, ours: of(OURS), beside: of(besideName), besideName });
    }),
  );
}
