/** Two requests to a group coordinator that kafkajs only supports in versions that are too old. */
import type { Cluster } from 'kafkajs';
// @ts-expect-error: kafkajs has no types for its internals
import protocol from 'kafkajs/src/protocol/error.js';
import { KqError } from '../../errors.js';
import type { MemberIdentity } from '../driver.js';
import { eachBroker } from './cluster-brokers.js';
import { FlexibleReader, FlexibleWriter } from './flexible.js';
import type { Lookup } from './static-member.js';

/** A member as the brokers know it. */
export interface KafkajsIdentity extends MemberIdentity {
  readonly generationId: number;
  readonly memberId: string;
}

/** Missing from kafkajs' types. */
export interface Coordinator extends Lookup {
  readonly connectionPool: { send<T>(call: { request: object; response: object }): Promise<T> };
  heartbeat(request: Heartbeat): Promise<unknown>;
  joinGroup(request: object): Promise<unknown>;
  leaveGroup(request: object): Promise<unknown>;
  syncGroup(request: { readonly generationId: number; readonly memberId: string }): Promise<unknown>;
  offsetFetch(request: Fetched): Promise<unknown>;
  txnOffsetCommit(request: Committed): Promise<unknown>;
}

export interface Heartbeat {
  readonly groupId: string;
  readonly groupGenerationId: number;
  readonly memberId: string;
}

interface Topics<P> {
  readonly topics: readonly { readonly topic: string; readonly partitions: readonly P[] }[];
}

export interface Fetched extends Topics<{ readonly partition: number }> {
  readonly groupId: string;
}

interface Committed extends Topics<{ readonly partition: number; readonly offset: string }> {
  readonly groupId: string;
  readonly transactionalId: string;
  readonly producerId: string;
  readonly producerEpoch: number;
}

const errorOf = (protocol as { readonly createErrorFromCode: (code: number) => Error }).createErrorFromCode;
const UNSTABLE_OFFSETS = 88;

const OFFSET_FETCH = { apiKey: 9, apiVersion: 7, apiName: 'OffsetFetch' };
const TXN_OFFSET_COMMIT = { apiKey: 28, apiVersion: 3, apiName: 'TxnOffsetCommit' };

/** The senders of offsets, keyed by the list of topics that kafkajs passes through. */
const senders = new WeakMap<object, KafkajsIdentity>();

/** Makes the group refuse offsets sent by a transaction once their sender is no longer that member. */
export function sentBy<T extends { readonly topics: object }>(identity: KafkajsIdentity, offsets: T): T {
  senders.set(offsets.topics, identity);
  return offsets;
}

/** Makes the producers of this cluster send offsets on behalf of the member registered by `sentBy`. */
export function sendOffsetsAsMembers(cluster: Cluster): void {
  eachBroker<Coordinator>(cluster, (coordinator) => {
    coordinator.txnOffsetCommit = (request) => commitAsMember(coordinator, request);
  });
}

async function commitAsMember(coordinator: Coordinator, request: Committed): Promise<void> {
  const identity = senders.get(request.topics);
  if (!identity) throw new Error('offsets without a member');
  if (!supports(coordinator, TXN_OFFSET_COMMIT))
    throw new KqError('KQ_CONFIG', 'the brokers cannot distinguish members: expected Kafka 2.5 or later');
  const body = new FlexibleWriter()
    .text(request.transactionalId)
    .text(request.groupId)
    .int64(BigInt(request.producerId))
    .int16(request.producerEpoch)
    .int32(identity.generationId)
    .text(identity.memberId)
    .text(null)
    .list(request.topics, ({ topic, partitions }, to) =>
      to
        .text(topic)
        .list(partitions, ({ partition, offset }, within) =>
          within.int32(partition).int64(BigInt(offset)).int32(-1).text(null).tags(),
        )
        .tags(),
    )
    .tags();
  await send(coordinator, TXN_OFFSET_COMMIT, body, (answer) => {
    answer.int32();
    answer.list(() => {
      answer.text();
      answer.list(() => {
        answer.int32();
        check(answer.int16());
        answer.tags();
      });
      answer.tags();
    });
  });
}

/**
 * Resolves with the offsets at which a group continues, in kafkajs' form; undefined while an open transaction is about to move
 * them.
 * @param old Fallback for brokers older than Kafka 2.5.
 */
export async function stableOffsets(
  coordinator: Coordinator,
  { groupId, topics }: Fetched,
  old: () => Promise<unknown>,
): Promise<unknown> {
  if (!supports(coordinator, OFFSET_FETCH)) return old();
  const body = new FlexibleWriter()
    .text(groupId)
    .list(topics, ({ topic, partitions }, to) =>
      to
        .text(topic)
        .list(partitions, ({ partition }, within) => within.int32(partition))
        .tags(),
    )
    .int8(1) // stable
    .tags();
  return send(coordinator, OFFSET_FETCH, body, (answer) => {
    answer.int32();
    let unstable = false;
    const responses = answer.list(() => {
      const topic = answer.text();
      const partitions = answer.list(() => {
        const partition = answer.int32();
        const offset = String(answer.int64());
        answer.int32();
        const metadata = answer.text();
        const errorCode = answer.int16();
        answer.tags();
        if (errorCode === UNSTABLE_OFFSETS) unstable = true;
        else check(errorCode);
        return { partition, offset, metadata, errorCode };
      });
      answer.tags();
      return { topic, partitions };
    });
    check(answer.int16());
    return unstable ? undefined : { responses };
  });
}

function supports({ versions }: Coordinator, { apiKey, apiVersion }: typeof OFFSET_FETCH): boolean {
  return (versions[apiKey]?.maxVersion ?? -1) >= apiVersion;
}

function send<T>(
  { connectionPool }: Coordinator,
  call: typeof OFFSET_FETCH,
  body: FlexibleWriter,
  read: (answer: FlexibleReader) => T,
): Promise<T> {
  // The header's tags, which kafkajs leaves to the body.
  const buffer = Buffer.concat([Buffer.of(0), body.bytes]);
  const parse = (parsed: T) => parsed;
  const decode = async (bytes: Buffer) => {
    const answer = new FlexibleReader(bytes);
    answer.tags();
    return { answer: read(answer) };
  };
  return connectionPool
    .send<{ answer: T }>({
      request: { ...call, encode: async () => ({ buf: buffer, buffer }) },
      response: { decode, parse },
    })
    .then(({ answer }) => answer);
}

function check(code: number): void {
  if (code !== 0) throw errorOf(code);
}
