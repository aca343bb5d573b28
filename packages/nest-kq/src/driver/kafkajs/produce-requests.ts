/** Produce requests with our own encoding: kafkajs allocates several buffers per field. */
import type { Cluster } from 'kafkajs';
// @ts-expect-error: kafkajs has no types for its internals
import protocol from 'kafkajs/src/protocol/requests/index.js';
import { eachBroker } from './cluster-brokers.js';
import { codecs } from './codecs.js';
import { isUnanswered } from './kafkajs-errors.js';
import { connectionLost, leave, type Leavable } from './connections.js';
import { type BatchRecord, writeBatch } from './record-batch.js';
import { Writer } from './writer.js';

const PRODUCE = 0;
/** kafkajs' encoder and response parser of each version. */
const VERSIONS = (protocol as { readonly requests: { readonly Produce: object } }).requests.Produce;

/** Missing from kafkajs' types. */
interface Broker extends Leavable {
  readonly connectionPool: { send(call: ProduceCall): Promise<unknown> };
  lookupRequest(apiKey: number, versions: object): (request: Produced) => ProduceCall;
  produce(request: Produced): Promise<unknown>;
}

interface ProduceCall {
  readonly request: object;
  readonly response: object;
}

export interface Produced {
  readonly acks: number;
  readonly timeout: number;
  readonly compression: number;
  readonly transactionalId?: string | null;
  readonly producerId: string;
  readonly producerEpoch: number;
  readonly topicData: readonly {
    readonly topic: string;
    readonly partitions: readonly {
      readonly partition: number;
      readonly firstSequence: number;
      /** In the form a session passes to kafkajs. */
      readonly messages: readonly BatchRecord[];
    }[];
  }[];
}

/**
 * Makes the producers of this cluster send the output of `produceBody`. When, where and how responses are handled stays with
 * kafkajs. A broker that doesn't answer is dropped in favor of the current leader.
 */
export function encodeByOurselves(cluster: Cluster): void {
  eachBroker<Broker>(cluster, (broker) => {
    broker.produce = async (produced) => {
      const { request, response } = broker.lookupRequest(PRODUCE, VERSIONS)(produced);
      const call = { request: { ...request, encode: () => produceBody(produced) }, response };
      try {
        return await broker.connectionPool.send(call);
      } catch (error) {
        if (!isUnanswered(error)) throw error;
        leave(broker);
        throw connectionLost(error);
      }
    };
  });
}

/** Encodes request versions 3 to 8: from the first with idempotent producers to the last that isn't flexible. */
export async function produceBody({
  acks,
  timeout,
  compression,
  transactionalId = null,
  topicData,
  ...producer
}: Produced) {
  const batches = {
    id: BigInt(producer.producerId),
    epoch: producer.producerEpoch,
    transactional: transactionalId !== null,
    compression,
    compress: (records: Buffer) => codecs[compression]!().compress(records),
  };
  const to = new Writer(16_384);
  to.string(transactionalId).int16(acks).int32(timeout).int32(topicData.length);
  for (const { topic, partitions } of topicData) {
    to.string(topic).int32(partitions.length);
    for (const { partition, firstSequence, messages } of partitions) {
      to.int32(Number(partition)).int32(0);
      const start = to.length;
      await writeBatch(to, messages, firstSequence, batches);
      to.patchInt32(start - 4, to.length - start);
    }
  }
  return { buf: to.bytes, buffer: to.bytes };
}
