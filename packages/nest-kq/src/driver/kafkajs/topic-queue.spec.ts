import { beforeEach, describe, expect, it } from '@jest/globals';
import { systemClock } from 'nest-handlers/time';
import { KqError } from '../../errors.js';
import type { Sent } from '../driver.js';
import { Call, TopicQueue, type Waiting } from './topic-queue.js';
import { leadersOf, type Leaders, type TopicLeaders } from '../topic-leaders.js';

/** A request that is under way until the test ends it. */
interface Request {
  readonly messages: readonly Waiting[];
  /** As `0:a 1:b`: the partition and the value of each. */
  readonly words: string;
  end(failure?: KqError): Promise<void>;
}

let requests: Request[];
let leaders: Leaders;
beforeEach(() => {
  requests = [];
  leaders = leadersOf([1, 1, 2]);
});

const next = () => new Promise((resolve) => setImmediate(resolve));

function open(bytes = 1e6, look?: () => Promise<Leaders>): TopicQueue {
  const topics = { known: () => (look ? undefined : leaders), leaders: () => look!() };
  const send = (messages: readonly Waiting[]) =>
    new Promise<KqError | undefined>((resolve) => {
      const words = messages
        .map(({ partition, message }) => `${partition}:${String(message.value)}`)
        .join(' ');
      requests.push({
        messages,
        words,
        async end(failure) {
          for (const { call, index, partition } of messages)
            call.answer(index, failure ?? { partition, offset: 0n });
          resolve(failure);
          await next();
        },
      });
    });
  let keyless = 0;
  return new TopicQueue(topics as unknown as TopicLeaders, systemClock, {
    topic: 't',
    bytes,
    send,
    partitioner: undefined,
    keyless: () => keyless++,
  });
}

/** By the partition of each message. */
function push(queue: TopicQueue, words: string, patience = 60_000): Call {
  const messages = words.split(' ').map((word) => {
    const [partition, value] = word.split(':');
    return { key: null, value: Buffer.from(value!), partition: Number(partition) };
  });
  const call = new Call(messages, systemClock.now() + patience, undefined);
  queue.add(call);
  return call;
}

const said = () => requests.map(({ words }) => words);
const codes = (answers: readonly Sent[]) =>
  answers.map((each) => (each instanceof KqError ? each.code : 'stored'));

describe('the queue of a topic', () => {
  it('sends to each leader separately, and gathers what comes while a request is in flight', async () => {
    const queue = open();
    push(queue, '0:a 1:b 2:c');
    expect(said()).toEqual(['0:a 1:b', '2:c']);
    push(queue, '0:d 2:e');
    push(queue, '0:f 2:g 1:h');
    await requests[1]!.end();
    // The first leader has not answered, and holds up only its own.
    expect(said().slice(2)).toEqual(['2:e 2:g']);
    await requests[0]!.end();
    expect(said().slice(3)).toEqual(['0:d 0:f 1:h']);
    for (const request of requests.slice(2)) await request.end();
    expect(queue.idle).toBe(true);
  });

  it('keeps the order of a partition that gets another leader while its request is in flight', async () => {
    const queue = open();
    push(queue, '0:a');
    leaders = leadersOf([2, 1, 2]);
    push(queue, '0:b');
    push(queue, '1:c');
    expect(said()).toEqual(['0:a']);
    await requests[0]!.end();
    expect(said().slice(1)).toEqual(['0:b', '1:c']);
  });

  it('sends nothing more of a call in a partition where it failed, and continues with the next call', async () => {
    const queue = open(40); // one message
    const first = push(queue, '0:a 0:b 2:c');
    const second = push(queue, '0:d');
    expect(said()).toEqual(['0:a', '2:c']);
    await requests[0]!.end(new KqError('KQ_AWAY', 'no answer', { indeterminate: true }));
    await requests[1]!.end();
    expect(codes(await first.done)).toEqual(['KQ_AWAY', 'KQ_AWAY', 'stored']);
    expect(await first.done).toMatchObject([{ indeterminate: true }, { indeterminate: false }, {}]);
    expect(said().slice(2)).toEqual(['0:d']);
    await requests[2]!.end();
    expect(codes(await second.done)).toEqual(['stored']);
  });

  it('takes the partitions of a leader in turn where one request has no room for all', async () => {
    const queue = open(40);
    push(queue, '0:a 0:b 1:c 1:d');
    for (let request = 0; request < 4; request++) await requests[request]!.end();
    expect(said()).toEqual(['0:a', '1:c', '0:b', '1:d']);
  });

  it('gives up the calls whose time is up while nobody knows where the topic is', async () => {
    let refuse: (error: Error) => void = () => {};
    let tries = 0;
    const queue = open(1e6, () => {
      tries++;
      return new Promise((_, reject) => (refuse = reject));
    });
    const first = push(queue, '0:a', 0);
    const second = push(queue, '0:b', 0);
    const third = push(queue, '0:c');
    await new Promise((resolve) => void systemClock.after(2, () => resolve(undefined)));
    refuse(new KqError('KQ_AWAY', 'nobody'));
    expect(codes([...(await first.done), ...(await second.done)])).toEqual(['KQ_AWAY', 'KQ_AWAY']);
    await next();
    expect(tries).toBe(2);
    refuse(new KqError('KQ_UNKNOWN_TOPIC', 'no topic'));
    expect(codes(await third.done)).toEqual(['KQ_UNKNOWN_TOPIC']);
    expect(queue.idle).toBe(true);
  });
});
