import { toError } from '../errors.js';
import type { DqRuntime } from '../nest/runtime.js';
import { Act, type ActOptions } from '../operate/act.js';
import { errorWire } from './failures.js';
import { anything, flag, Input, number, text } from './input.js';
import type { KafkaCluster, KafkaLettersDone, KafkaPlace } from './kafka-cluster.js';
import { KAFKA_FILTER, KAFKA_LETTER, kafkaFilter, kafkaPlace, type KafkaClusters } from './kafka.js';
import type { BulkProgressWire, KafkaExampleWire, SingleActs } from './wire.js';

const HOW = {
  kafkaReplay: 'replayed',
  kafkaDiscard: 'discarded',
  kafkaReplayMany: 'replayed',
  kafkaDiscardMany: 'discarded',
} as const;

/** Fields of a replay in addition to those of a discard. */
const MORE = { replayed: ['groups'], discarded: [] } as const;

/** Performs an act on one letter; rejects with the reason if the letter stays. */
export function actOnLetter<Name extends 'kafkaReplay' | 'kafkaDiscard'>(name: Name) {
  const how = HOW[name];
  return async (
    { events }: DqRuntime,
    body: unknown,
    { by }: ActOptions,
    kafka: KafkaClusters,
  ): Promise<SingleActs[Name]['result']> => {
    const input = new Input('the body', body, [...KAFKA_LETTER, ...MORE[how]]);
    const { cluster, letters } = kafka.of(input);
    const topic = input.must('topic', text);
    const place = kafkaPlace(input);
    const on = { ...placeOf(cluster, topic), id: idOf(place) };
    const acting = letters.acting(how, topic, place, input.part('groups', anything<'all'>));
    let changed = 0;
    for await (const { count } of told(firstFailing(acting), new Act(events, name, on, by))) changed = count;
    return changed > 0 ? how : 'resolved';
  };
}

/** Starts an act on all matching letters. It throws at once for a wrong body, and does nothing until it is iterated. */
export function actOnLetters(
  name: 'kafkaReplayMany' | 'kafkaDiscardMany',
  { events }: DqRuntime,
  body: unknown,
  { by }: ActOptions,
  kafka: KafkaClusters,
): AsyncGenerator<BulkProgressWire<KafkaExampleWire>, void, undefined> {
  const how = HOW[name];
  const input = new Input('the body', body, ['cluster', 'topic', 'dryRun', 'filter', ...MORE[how]]);
  const { cluster, letters } = kafka.of(input);
  const topic = input.must('topic', text);
  const given = new Input('`filter`', input.must('filter', anything), [...KAFKA_FILTER, 'limit']);
  const filter = kafkaFilter(given);
  const options = {
    ...input.part('dryRun', flag),
    ...input.part('groups', anything<'all'>),
    ...given.part('limit', number),
  };
  const on = { ...placeOf(cluster, topic), filter: { ...filter, ...given.part('limit', number) } };
  const act = options.dryRun ? undefined : new Act(events, name, on, by);
  return progressOf(topic, told(letters.acting(how, topic, filter, options), act), options.dryRun);
}

function placeOf(cluster: KafkaCluster['cluster'], topic: string) {
  return { topic, ...(cluster !== undefined && { cluster }) };
}

/** Emits the act when it has ended. Undefined for a dry run. */
async function* told(
  acting: AsyncIterable<KafkaLettersDone>,
  act: Act | undefined,
): AsyncGenerator<KafkaLettersDone, void, undefined> {
  let last: KafkaLettersDone | undefined;
  let failure: Error | undefined;
  try {
    for await (const done of acting) yield (last = done);
  } catch (thrown) {
    throw (failure = toError(thrown));
  } finally {
    act?.ended(last?.count ?? 0, failure);
  }
}

/** Throws the reason if the letter stays. */
async function* firstFailing(
  acting: AsyncIterable<KafkaLettersDone>,
): AsyncGenerator<KafkaLettersDone, void, undefined> {
  for await (const done of acting) {
    if (done.failures[0]) throw done.failures[0].error;
    yield done;
  }
}

async function* progressOf(
  topic: string,
  acting: AsyncIterable<KafkaLettersDone>,
  dryRun = false,
): AsyncGenerator<BulkProgressWire<KafkaExampleWire>, void, undefined> {
  for await (const { count, failed, failures, examples, leaderless } of acting) {
    const shown = dryRun ? examples : [];
    yield {
      done: count,
      failed,
      skipped: 0,
      failures: failures.map(({ error, ...place }) => ({ id: idOf(place), ...errorWire(error) })),
      examples: shown.map(({ key, diedAt, ...place }) => ({
        id: idOf(place),
        ...(key !== null && { key }),
        diedAt: diedAt.toISOString(),
      })),
      ...(leaderless && { leaderless: leaderless.map((partition) => `${topic}/${partition}`) }),
    };
  }
}

function idOf({ partition, offset }: KafkaPlace): string {
  return `${partition}/${offset}`;
}
