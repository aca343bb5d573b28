// Requests and answers as bytes, written by hand from the protocol's message formats.
import { describe, expect, it } from '@jest/globals';
import type { Cluster } from 'kafkajs';
import {
  sendOffsetsAsMembers,
  sentBy,
  stableOffsets,
  type Coordinator,
  type Fetched,
} from './group-requests.js';

const NO_TAGS = '00';
const text = (value: string) => `0${value.length + 1}${Buffer.from(value).toString('hex')}`;

interface Call {
  readonly request: {
    readonly apiKey: number;
    readonly apiVersion: number;
    encode(): Promise<{ buffer: Buffer }>;
  };
  readonly response: { decode(bytes: Buffer): Promise<unknown>; parse(decoded: unknown): unknown };
}

/** A broker that gives this answer, and what it was asked. */
function brokerWith(answer: Buffer, maxVersion = 9) {
  const asked: string[] = [];
  const send = async ({ request, response }: Call) => {
    asked.push(`${request.apiKey} v${request.apiVersion} ${(await request.encode()).buffer.toString('hex')}`);
    return response.parse(await response.decode(answer));
  };
  const versions = { 9: { maxVersion }, 28: { maxVersion } };
  const coordinator = { versions, connectionPool: { send } } as unknown as Coordinator;
  return { coordinator, asked };
}

/** Fails wherever the answer ends before its last tags, which nobody reads. */
async function refusesShort(
  answer: Buffer,
  ask: (coordinator: Coordinator) => Promise<unknown>,
): Promise<void> {
  await ask(brokerWith(answer).coordinator);
  for (let end = 0; end < answer.length - 1; end++)
    await expect(ask(brokerWith(answer.subarray(0, end)).coordinator)).rejects.toThrow(RangeError);
}

describe('TxnOffsetCommit', () => {
  const identity = { group: 'shop', generationId: 5, memberId: 'me' };
  const answerOf = (code: string) =>
    Buffer.from(
      NO_TAGS + '00000000' + '02' + text('t') + '02' + '00000001' + code + NO_TAGS + NO_TAGS + NO_TAGS,
      'hex',
    );

  async function commit(coordinator: Coordinator): Promise<unknown> {
    const brokerPool = { createBroker: () => coordinator };
    sendOffsetsAsMembers({ brokerPool } as unknown as Cluster);
    const changed = brokerPool.createBroker();
    const offsets = { topics: [{ topic: 't', partitions: [{ partition: 1, offset: '258' }] }] };
    const of = { transactionalId: 'tx', groupId: 'shop', producerId: '1000', producerEpoch: 3 };
    return changed.txnOffsetCommit({ ...of, ...sentBy(identity, offsets) });
  }

  it('says which member sends the offsets', async () => {
    const { coordinator, asked } = brokerWith(answerOf('0000'));
    await commit(coordinator);
    const request = [
      NO_TAGS, // of the header
      text('tx'),
      text('shop'),
      '00000000000003e8', // producer
      '0003', // epoch
      '00000005', // generation
      text('me'),
      '00', // no static member
      '02',
      text('t'),
      '02',
      '00000001' + '0000000000000102', // partition, offset
      'ffffffff' + '00' + NO_TAGS, // no epoch of the leader, no metadata
      NO_TAGS,
      NO_TAGS,
    ];
    expect(asked).toEqual([`28 v3 ${request.join('')}`]);
  });

  it.each([
    ['0016', 'ILLEGAL_GENERATION', false],
    ['0019', 'UNKNOWN_MEMBER_ID', false],
    ['0052', 'FENCED_INSTANCE_ID', false],
    ['000e', 'GROUP_LOAD_IN_PROGRESS', true],
    ['7fff', 'KAFKAJS_UNKNOWN_ERROR_CODE', false],
  ])('rejects with error %s of a partition as %s', async (code, type, retriable) => {
    await expect(commit(brokerWith(answerOf(code)).coordinator)).rejects.toMatchObject({ type, retriable });
  });

  it('refuses brokers that do not know it', async () => {
    const { coordinator, asked } = brokerWith(answerOf('0000'), 2);
    await expect(commit(coordinator)).rejects.toMatchObject({ code: 'KQ_CONFIG' });
    expect(asked).toEqual([]);
  });

  it('reports an answer that ends too early', () => refusesShort(answerOf('0000'), commit));
});

describe('OffsetFetch', () => {
  const wanted: Fetched = {
    groupId: 'shop',
    topics: [{ topic: 't', partitions: [{ partition: 0 }, { partition: 1 }] }],
  };
  const partition = (number: string, offset: string, code: string) =>
    number + offset + 'ffffffff' + '01' + code + NO_TAGS;
  const answerOf = (second: string, whole = '0000') =>
    Buffer.from(
      NO_TAGS +
        '00000000' +
        '02' +
        text('t') +
        '03' +
        partition('00000000', '0000000000000102', '0000') +
        partition('00000001', 'ffffffffffffffff', second) +
        NO_TAGS +
        whole +
        NO_TAGS,
      'hex',
    );
  const old = () => Promise.reject(new Error('the old request'));
  const fetch = (coordinator: Coordinator) => stableOffsets(coordinator, wanted, old);

  it('asks for offsets that no transaction is about to move, and gives them as kafkajs does', async () => {
    const { coordinator, asked } = brokerWith(answerOf('0000'));
    await expect(fetch(coordinator)).resolves.toEqual({
      responses: [
        {
          topic: 't',
          partitions: [
            { partition: 0, offset: '258', metadata: '', errorCode: 0 },
            { partition: 1, offset: '-1', metadata: '', errorCode: 0 },
          ],
        },
      ],
    });
    const request = [
      NO_TAGS,
      text('shop'),
      '02',
      text('t'),
      '03',
      '00000000',
      '00000001',
      NO_TAGS,
      '01',
      NO_TAGS,
    ];
    expect(asked).toEqual([`9 v7 ${request.join('')}`]);
  });

  it('gives nothing while one of them is about to move', async () => {
    await expect(fetch(brokerWith(answerOf('0058')).coordinator)).resolves.toBeUndefined();
  });

  it.each([
    ['of a partition', answerOf('001d'), 'TOPIC_AUTHORIZATION_FAILED', false],
    ['of the whole', answerOf('0000', '0010'), 'NOT_COORDINATOR_FOR_GROUP', true],
  ])('rejects with the error %s', async (_where, answer, type, retriable) => {
    await expect(fetch(brokerWith(answer).coordinator)).rejects.toMatchObject({ type, retriable });
  });

  it('leaves older brokers to kafkajs', async () => {
    await expect(fetch(brokerWith(answerOf('0000'), 6).coordinator)).rejects.toThrow('the old request');
  });

  it('reports an answer that ends too early', () => refusesShort(answerOf('0000'), fetch));
});
