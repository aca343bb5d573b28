/** What we do otherwise than kafkajs on each of its connections. */
import kafkajs from 'kafkajs';
import type { Cluster } from 'kafkajs';
import type { Clock } from 'nest-handlers/time';
import { eachPool } from './cluster-brokers.js';
import { readFetched, WITH_BATCHES } from './fetch-answers.js';
import { keepErrors, type TopicAnswer } from './metadata-answers.js';

const FETCH = 1;
const METADATA = 3;
const API_VERSIONS = 18;

/**
 * Milliseconds that a broker may take for what it answers from memory. By itself kafkajs waits 30 s for one that stands still,
 * and all that needs metadata waits with it.
 */
const ANSWER_LIMIT = 5_000;

/** What the types of kafkajs leave out. */
export interface Pool {
  readonly pool: readonly { readonly requestQueue: RequestQueue; disconnect(): Promise<unknown> }[];
  send(call: Call): Promise<unknown>;
}

export interface Call {
  readonly request: { readonly apiKey: number; readonly apiVersion: number };
  readonly response: { decode(bytes: Buffer): Promise<unknown>; parse(answer: never): unknown };
}

interface RequestQueue {
  readonly pending: readonly unknown[];
  scheduleCheckPendingRequests(): void;
  rejectAll(error: Error): void;
}

/** Makes the clients of this cluster read answers by `readFetched` and `keepErrors`. What they make of them stays with kafkajs. */
export function readByOurselves(cluster: Cluster, clock: Clock): void {
  eachPool<Pool>(cluster, (pool) => {
    for (const { requestQueue } of pool.pool) checkOnlyWhatWaits(requestQueue);
    const send = pool.send.bind(pool);
    pool.send = (call) => {
      const { request, response } = call;
      const { apiKey, apiVersion } = request;
      if (apiKey === FETCH && apiVersion >= WITH_BATCHES)
        return send({
          ...call,
          response: { ...response, decode: (bytes) => readFetched(bytes, apiVersion) },
        });
      if (apiKey === METADATA) {
        const parse = (answer: { readonly topicMetadata: readonly TopicAnswer[] }) => keepErrors(answer);
        return inTime(clock, pool, send({ ...call, response: { ...response, parse } }));
      }
      return apiKey === API_VERSIONS ? inTime(clock, pool, send(call)) : send(call);
    };
  });
}

/** By itself kafkajs sets a timer every millisecond while nothing waits, of a negative time, of which Node 24 warns (kafkajs#1751). */
function checkOnlyWhatWaits(queue: RequestQueue): void {
  const schedule = queue.scheduleCheckPendingRequests.bind(queue);
  queue.scheduleCheckPendingRequests = () => {
    if (queue.pending.length > 0) schedule();
  };
}

/** After the limit all requests of the connections fail, so that kafkajs drops them and asks another broker. */
async function inTime<T>(clock: Clock, { pool }: Pool, answer: Promise<T>): Promise<T> {
  const timer = clock.after(ANSWER_LIMIT, () => {
    const error = new kafkajs.KafkaJSConnectionError(`a broker has not answered within ${ANSWER_LIMIT} ms`);
    for (const connection of pool) {
      connection.requestQueue.rejectAll(error);
      void connection.disconnect(); // it only waits for requests, and there are none
    }
  });
  try {
    return await answer;
  } finally {
    timer.cancel();
  }
}
