import { beforeEach, describe, expect, it } from '@jest/globals';
import kafkajs from 'kafkajs';
import type { Cluster } from 'kafkajs';
import type { Call } from './connections.js';
import type { KafkajsClient } from './kafkajs-client.js';
import { fetchPartially } from './partial-fetches.js';

const FETCH = 1;
const REQUEST = {
  maxBytes: 10_485_760,
  topics: [{ topic: 't', partitions: [{ partition: 0, maxBytes: 1_048_576 }] }],
};
const HEALTHY = { partition: 0, errorCode: 0, messages: [{ offset: '7' }] };

interface FakeBroker {
  fetch(request: object): Promise<unknown>;
  disconnect(): Promise<void>;
}

/** As kafkajs has them. */
let cluster: {
  connectionPoolBuilder: { build(): Promise<{ send(call: Call): Promise<unknown> }> };
  brokerPool: { createBroker(options: object): FakeBroker };
  findBroker(wanted: { nodeId: string }): Promise<FakeBroker>;
  fetchTopicsOffset(topics: { topic: string; partitions: { partition: number }[] }[]): Promise<unknown>;
  findLeaderForPartitions(topic: string, partitions: number[]): Record<string, number[]>;
  findTopicPartitionMetadata(topic: string): object[];
  refreshMetadata(): Promise<void>;
};
/** The answer of the broker, or the error if it cannot be reached. */
let answer: object[] | Error;
let refreshed: number;
/** Calls, in order. */
let acts: string[];
let left: object[];
let asked: object[];
let fetchBytes: number;
beforeEach(() => {
  refreshed = 0;
  acts = [];
  asked = [];
  fetchBytes = Infinity;
  left = [{}];
  const pool = {
    send: async ({ response }: Call) => {
      if (answer instanceof Error) throw answer;
      return response.parse({ responses: [{ topicName: 't', partitions: answer }] } as never);
    },
  };
  cluster = {
    connectionPoolBuilder: { build: async () => pool },
    brokerPool: {
      createBroker: () => ({
        fetch: async (request) => {
          asked.push(request);
          const built = await cluster.connectionPoolBuilder.build();
          return built.send({
            request: { apiKey: FETCH, apiVersion: 11 },
            response: { decode: async () => undefined, parse },
          });
        },
        disconnect: async () => void acts.push('disconnect'),
      }),
    },
    findBroker: async ({ nodeId }) => {
      if (nodeId === 'dead') throw new kafkajs.KafkaJSConnectionError('connect ECONNREFUSED');
      return cluster.brokerPool.createBroker({});
    },
    fetchTopicsOffset: async ([asked]) => {
      const { topic, partitions } = asked!;
      if (partitions.some(({ partition }) => partition === 2)) throw new Error('not the leader');
      return [{ topic, partitions: partitions.map(({ partition }) => ({ partition, offset: '5' })) }];
    },
    findLeaderForPartitions: () => ({ '1': [0, 1], '2': [2], '-1': [3] }),
    findTopicPartitionMetadata: () => left,
    refreshMetadata: async () => {
      refreshed++;
      acts.push('refresh');
    },
  };
  const client = { delay: async () => {}, log: { debug: () => {} } };
  fetchPartially(cluster as unknown as Cluster, client as unknown as KafkajsClient, () => fetchBytes);
});

/** As kafkajs does: the first error is that of all. */
function parse(parsed: { responses: { partitions: { errorCode: number }[] }[] }): unknown {
  const wrong = parsed.responses
    .flatMap(({ partitions }) => partitions)
    .find(({ errorCode }) => errorCode !== 0);
  if (wrong) throw new Error(`error ${wrong.errorCode}`);
  return parsed;
}

const fetch = async () => (await cluster.findBroker({ nodeId: '1' })).fetch(REQUEST);

describe('a fetch', () => {
  it.each([3, 5, 6, 9, 56, 74, 75])(
    'gives the other partitions where one has the error %d',
    async (errorCode) => {
      answer = [{ partition: 1, errorCode, messages: [] }, HEALTHY];
      await expect(fetch()).resolves.toMatchObject({
        responses: [{ topicName: 't', partitions: [HEALTHY] }],
      });
      await new Promise(setImmediate);
      expect(refreshed).toBe(1);
    },
  );

  it.each([
    { most: 2_000_000, bytes: 1_048_576, all: 10_485_760 },
    { most: 1_000_000.5, bytes: 1_000_000, all: 10_485_760 },
    { most: 262_144, bytes: 262_144, all: 4_194_304 },
  ])('asks for at most $bytes bytes of a partition where $most may come', async ({ most, bytes, all }) => {
    fetchBytes = most;
    answer = [HEALTHY];
    await fetch();
    const topics = [{ topic: 't', partitions: [{ partition: 0, maxBytes: bytes }] }];
    expect(asked).toEqual([{ maxBytes: all, topics }]);
  });

  it('fails by an error that concerns all', async () => {
    answer = [{ partition: 1, errorCode: 29, messages: [] }, HEALTHY];
    await expect(fetch()).rejects.toThrow('error 29');
  });

  it('has kafkajs rejoin once a topic is gone', async () => {
    left = [];
    answer = [{ partition: 1, errorCode: 3, messages: [] }, HEALTHY];
    await expect(fetch()).rejects.toMatchObject({ type: 'UNKNOWN_TOPIC_OR_PARTITION' });
  });

  it.each([
    new kafkajs.KafkaJSConnectionError('ECONNRESET'),
    new kafkajs.KafkaJSRequestTimeoutError('late'),
    Object.assign(new Error('closed'), { name: 'KafkaJSConnectionClosedError' }),
  ])('is empty where its broker is lost by a %p, and stops no other', async (error) => {
    answer = error;
    await expect(fetch()).resolves.toEqual({ responses: [] });
    expect(refreshed).toBe(1);
  });

  it('leaves a broker that has not answered before it asks who leads by now', async () => {
    answer = new kafkajs.KafkaJSRequestTimeoutError('late');
    await fetch();
    expect(acts).toEqual(['disconnect', 'refresh']);
  });

  it('treats an unreachable broker as one that is gone', async () => {
    await expect(cluster.findBroker({ nodeId: 'dead' })).rejects.toMatchObject({
      name: 'KafkaJSBrokerNotFound',
    });
  });

  it('reads where partitions begin as far as their leaders answer', async () => {
    const partitions = [0, 1, 2, 3].map((partition) => ({ partition }));
    await expect(cluster.fetchTopicsOffset([{ topic: 't', partitions }])).resolves.toEqual([
      { topic: 't', partitions: [0, 1].map((partition) => ({ partition, offset: '5' })) },
    ]);
  });
});
