/** Changes to kafkajs' behavior on each of its connections. */
import type { Socket } from 'node:net';
import kafkajs from 'kafkajs';
import type { Cluster } from 'kafkajs';
import type { Clock } from 'nest-handlers/time';
import { eachBroker, eachPool } from './cluster-brokers.js';
import { readFetched, WITH_BATCHES } from './fetch-answers.js';
import { isUnanswered } from './kafkajs-errors.js';
import { keepErrors, type TopicAnswer } from './metadata-answers.js';

const FETCH = 1;
const METADATA = 3;

/**
 * Timeout for responses that a broker gives from memory. kafkajs itself waits 30 s for a hung broker, and everything that
 * needs metadata waits with it.
 */
const ANSWER_LIMIT_MS = 5_000;
const FROM_MEMORY = ['apiVersions', 'metadata', 'findGroupCoordinator'] as const;

/** Missing from kafkajs' types. */
export interface Pool {
  readonly pool: readonly Connection[];
  send(call: Call): Promise<unknown>;
}

export interface Call {
  readonly request: { readonly apiKey: number; readonly apiVersion: number };
  readonly response: { decode(bytes: Buffer): Promise<unknown>; parse(answer: never): unknown };
}

/** A kafkajs broker whose connections can be dropped. */
export interface Leavable {
  versions: object | null;
  disconnect(): Promise<void>;
}

type Asked = Leavable & { readonly connectionPool: Pool } & {
  [Request in (typeof FROM_MEMORY)[number]]: (about?: object) => Promise<unknown>;
};

interface Connection {
  readonly requestQueue: RequestQueue;
  socket?: Socket | undefined;
  disconnect(): Promise<unknown>;
}

interface RequestQueue {
  readonly pending: readonly unknown[];
  scheduleCheckPendingRequests(): void;
  rejectAll(error: Error): void;
}

/** Makes the clients of this cluster parse responses with `readFetched` and `keepErrors`. The rest stays with kafkajs. */
export function readByOurselves(cluster: Cluster, clock: Clock): void {
  eachPool<Pool>(cluster, (pool) => {
    for (const connection of pool.pool) {
      checkOnlyWhatWaits(connection.requestQueue);
      dropClosedSocket(connection);
    }
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
        return send({ ...call, response: { ...response, parse } });
      }
      return send(call);
    };
  });
  eachBroker<Asked>(cluster, (broker) => {
    for (const request of FROM_MEMORY) {
      const ask = broker[request].bind(broker);
      broker[request] = (about) => inTime(clock, broker, ask(about));
    }
  });
}

/**
 * Closes the connections of a broker that hasn't answered. It counts as connected again only after it has answered with its
 * supported versions: the OS accepts connections for a hung broker, and kafkajs would keep asking it for metadata.
 */
export function leave(broker: Leavable): void {
  broker.versions = null;
  void broker.disconnect(); // waits only for open requests, and never rejects
}

/**
 * Otherwise kafkajs sets a timer every millisecond while nothing waits, with a negative delay that Node 24 warns about
 * (kafkajs#1751).
 */
function checkOnlyWhatWaits(queue: RequestQueue): void {
  const schedule = queue.scheduleCheckPendingRequests.bind(queue);
  queue.scheduleCheckPendingRequests = () => {
    if (queue.pending.length > 0) schedule();
  };
}

/**
 * kafkajs calls `unref` at each disconnect, which on a closed socket adds a listener: Node then warns of a leak when a broker
 * stays away.
 */
function dropClosedSocket(connection: Connection): void {
  const disconnect = connection.disconnect.bind(connection);
  connection.disconnect = () => {
    if (connection.socket?.destroyed) connection.socket = undefined;
    return disconnect();
  };
}

/** Rejects like a lost connection on timeout, after which kafkajs asks another broker. */
async function inTime<T>(clock: Clock, broker: Asked, answer: Promise<T>): Promise<T> {
  const timer = clock.after(ANSWER_LIMIT_MS, () => {
    const error = new kafkajs.KafkaJSConnectionError(`a broker did not answer within ${ANSWER_LIMIT_MS} ms`);
    for (const { requestQueue } of broker.connectionPool.pool) requestQueue.rejectAll(error);
    leave(broker);
  });
  try {
    return await answer;
  } catch (error) {
    if (!isUnanswered(error)) throw error;
    leave(broker);
    throw connectionLost(error);
  } finally {
    timer.cancel();
  }
}

/** Returns an error after which kafkajs asks another broker; after its own it asks the same one again. */
export function connectionLost(error: Error): Error {
  return Object.assign(new kafkajs.KafkaJSConnectionError(error.message), { cause: error });
}
