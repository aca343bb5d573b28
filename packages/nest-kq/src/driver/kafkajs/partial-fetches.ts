/**
 * Lets a consumer continue if one partition or broker is in trouble. Otherwise kafkajs takes the first error of a response for
 * that of the whole fetch, stops all fetches and makes the group rebalance.
 */
import kafkajs from 'kafkajs';
import type { Cluster } from 'kafkajs';
import { eachBroker, eachPool } from './cluster-brokers.js';
import { leave, type Call, type Leavable, type Pool } from './connections.js';
import type { KafkajsClient } from './kafkajs-client.js';
import { TOPIC_ERRORS } from './metadata-answers.js';
import { isUnanswered, isUnreached } from './kafkajs-errors.js';

const FETCH = 1;
/** Delay before an unreachable broker is retried, and before metadata is requested again. */
const PAUSE_MS = 250;
/** kafkajs' limit for one partition, in bytes. */
const MAX_BYTES = 2 ** 20;
/** Number of partitions a response has room for: it comes in one piece, and is in memory several times while being read. */
const PER_ANSWER = 16;

/**
 * Kafka's error codes that concern one partition and pass, with or without new metadata: unknown, no leader, not the leader, no
 * replica, disk error, fenced or unknown leader epoch.
 */
const PARTITION_ERRORS: readonly number[] = [TOPIC_ERRORS.unknown, 5, 6, 9, 56, 74, 75];

interface Fetched {
  readonly topicName: string;
  readonly partitions: readonly {
    readonly partition: number;
    readonly errorCode: number;
    readonly messages: readonly unknown[];
  }[];
}

interface FetchAnswer {
  readonly responses: readonly Fetched[];
  /** Topics with skipped partitions, and their error codes. */
  readonly leftOut?: ReadonlyMap<string, number>;
}

/** Missing from kafkajs' types. */
interface Broker extends Leavable {
  fetch(request: FetchRequest): Promise<FetchAnswer>;
}

interface FetchRequest {
  readonly maxBytes: number;
  readonly topics: readonly { readonly partitions: readonly { readonly maxBytes: number }[] }[];
}

/** Declared differently by kafkajs' types: it takes a message. */
const NotFound = kafkajs.KafkaJSBrokerNotFound as new (message: string) => Error;
/** Nor do they declare that it takes the fields of a broker's error. */
const Failed = kafkajs.KafkaJSProtocolError as new (error: Error) => Error;

/** @param fetchBytes Returns the max bytes of a fetch of one partition. */
export function fetchPartially(cluster: Cluster, client: KafkajsClient, fetchBytes = () => MAX_BYTES): void {
  const refresh = refreshing(cluster, client);

  eachPool<Pool>(cluster, (pool) => {
    const send = pool.send.bind(pool);
    pool.send = (call) => send(call.request.apiKey === FETCH ? leavingOut(call) : call);
  });

  // kafkajs continues after this error, and stops after a connection error.
  const find = cluster.findBroker.bind(cluster);
  cluster.findBroker = async (wanted) => {
    try {
      return await find(wanted);
    } catch (error) {
      if (!isUnreached(error)) throw error;
      await client.delay(PAUSE_MS);
      throw Object.assign(new NotFound(`a broker cannot be reached: ${error.message}`), { cause: error });
    }
  };

  eachBroker<Broker>(cluster, (broker) => {
    const fetch = broker.fetch.bind(broker);
    broker.fetch = async (request) => {
      try {
        const answer = await fetch(limited(request, Math.floor(fetchBytes())));
        if (answer.leftOut) await lookAnew(cluster, answer, refresh);
        return answer;
      } catch (error) {
        if (!isUnreached(error)) throw error;
        client.log.debug(`a fetch failed: ${error.message}`);
        if (isUnanswered(error)) leave(broker);
        await refresh();
        return { responses: [] };
      }
    };
  });

  // Start offsets of partitions with nothing committed, requested from each leader separately.
  const offsets = cluster.fetchTopicsOffset.bind(cluster);
  cluster.fetchTopicsOffset = (topics) =>
    Promise.all(
      topics.map(async (asked) => {
        const { topic } = asked;
        const numbers = asked.partitions.map(({ partition }) => partition);
        const leaders = Object.entries(cluster.findLeaderForPartitions(topic, numbers));
        const found = await Promise.all(
          leaders.map(async ([leader, partitions]) => {
            if (Number(leader) < 0) return [];
            try {
              const own = partitions.map((partition) => ({ partition }));
              return (await offsets([{ ...asked, partitions: own }])).flatMap((each) => each.partitions);
            } catch (error) {
              client.log.debug(`cannot read the first offset of ${topic}: ${String(error)}`);
              await refresh();
              return [];
            }
          }),
        );
        return { topic, partitions: found.flat() };
      }),
    );
}

function limited(request: FetchRequest, partitionBytes: number): FetchRequest {
  if (partitionBytes >= MAX_BYTES) return request;
  const topics = request.topics.map((each) => ({
    ...each,
    partitions: each.partitions.map((partition) => ({ ...partition, maxBytes: partitionBytes })),
  }));
  return { ...request, maxBytes: Math.min(request.maxBytes, PER_ANSWER * partitionBytes), topics };
}

/** Returns a function that refreshes metadata after a pause; concurrent callers share the result. Never rejects. */
function refreshing(cluster: Cluster, client: KafkajsClient): () => Promise<void> {
  let current: Promise<void> | undefined;
  return () =>
    (current ??= client
      .delay(PAUSE_MS)
      .then(() => cluster.refreshMetadata())
      .catch((error: unknown) => client.log.debug(`no metadata: ${String(error)}`))
      .finally(() => (current = undefined)));
}

/** Rejects if a topic is gone: then kafkajs rejoins, and rebalances again once it is back. */
async function lookAnew(
  cluster: Cluster,
  { responses, leftOut = new Map() }: FetchAnswer,
  refresh: () => Promise<void>,
): Promise<void> {
  const unknown = [...leftOut].flatMap(([topic, code]) => (code === TOPIC_ERRORS.unknown ? [topic] : []));
  const looking = refresh();
  const hasMessages = responses.some((each) => each.partitions.some(({ messages }) => messages.length > 0));
  if (unknown.length === 0 && hasMessages) return;
  await looking;
  const gone = unknown.find((topic) => cluster.findTopicPartitionMetadata(topic).length === 0);
  if (gone === undefined) return;
  const error = new Error(`the topic ${gone} is gone`);
  throw new Failed(
    Object.assign(error, { type: 'UNKNOWN_TOPIC_OR_PARTITION', code: TOPIC_ERRORS.unknown, retriable: true }),
  );
}

/** Hides partitions from kafkajs that it can't continue with. */
function leavingOut(call: Call): Call {
  const { response } = call;
  const parse = (answer: { readonly responses: readonly Fetched[] }) => {
    const leftOut = new Map<string, number>();
    const responses = answer.responses.map((each) => ({
      ...each,
      partitions: each.partitions.filter(({ errorCode }) => {
        if (!PARTITION_ERRORS.includes(errorCode)) return true;
        leftOut.set(each.topicName, errorCode);
        return false;
      }),
    }));
    const rest = leftOut.size === 0 ? answer : { ...answer, responses, leftOut };
    return response.parse(rest as never);
  };
  return { ...call, response: { ...response, parse } };
}
