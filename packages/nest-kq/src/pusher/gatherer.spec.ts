import { beforeEach, describe, expect, it } from '@jest/globals';
import type { LogProducer, Sent } from '../driver/driver.js';
import type { OutgoingMessage } from '../driver/message.js';
import { KqError } from '../errors.js';
import { systemClock } from 'nest-handlers/time';
import { Gatherer, type GathererOptions } from './gatherer.js';

/** A request that is under way until the test answers it. */
interface Request {
  readonly topic: string;
  readonly values: readonly string[];
  answer(...answers: readonly Sent[]): void;
  /** Before the others. */
  answerOne(index: number, sent: Sent): void;
}

let requests: Request[];
let begun: () => void;
beforeEach(() => {
  requests = [];
  begun = () => {};
});

function open(over: Partial<GathererOptions> = {}): Gatherer {
  let offset = 0n;
  const send: LogProducer['send'] = (topic, messages, answered = () => {}) =>
    new Promise<readonly Sent[]>((resolve) => {
      const all = messages.map(() => ({ partition: 0, offset: offset++ }));
      const answer = (...answers: readonly Sent[]) => resolve(answers.length > 0 ? answers : all);
      requests.push({
        topic,
        values: messages.map(({ value }) => String(value)),
        answer,
        answerOne: answered,
      });
      begun();
    });
  const producer: Pick<LogProducer, 'send'> = { send };
  return new Gatherer(producer, systemClock, { messages: 100, bytes: 1e6, requestBytes: 1e6, ...over });
}

function of(value: string): OutgoingMessage {
  return { key: null, value: Buffer.from(value) };
}

function untilRequests(count: number): Promise<void> {
  return new Promise((resolve) => {
    begun = () => {
      if (requests.length >= count) resolve();
    };
    begun();
  });
}

describe('Gatherer', () => {
  it('sends what one turn pushes by one call, and the next without waiting for its answers', async () => {
    const gatherer = open();
    const first = [gatherer.push('t', of('1')), gatherer.push('t', of('2'))];
    await untilRequests(1);
    const second = [gatherer.push('t', of('3')), gatherer.push('t', of('4'))];
    await untilRequests(2);
    expect(requests.map(({ values }) => values)).toEqual([
      ['1', '2'],
      ['3', '4'],
    ]);
    requests[1]!.answer();
    await Promise.all(second);
    requests[0]!.answer();
    await expect(Promise.all(first)).resolves.toEqual([
      { partition: 0, offset: 0n },
      { partition: 0, offset: 1n },
    ]);
  });

  it('answers a push as soon as its producer does, once', async () => {
    const gatherer = open();
    const pushes = [gatherer.push('t', of('1')), gatherer.push('t', of('2'))];
    await untilRequests(1);
    requests[0]!.answerOne(1, { partition: 3, offset: 7n });
    await expect(pushes[1]).resolves.toEqual({ partition: 3, offset: 7n });
    expect(gatherer.pending).toBe(1);
    requests[0]!.answer();
    await expect(pushes[0]).resolves.toEqual({ partition: 0, offset: 0n });
    expect(gatherer.pending).toBe(0);
  });

  it('lets no topic wait for another one', async () => {
    const gatherer = open();
    const pushes = [gatherer.push('a', of('1')), gatherer.push('b', of('2'))];
    await untilRequests(2);
    expect(requests.map(({ topic }) => topic)).toEqual(['a', 'b']);
    for (const request of requests) request.answer();
    await Promise.all(pushes);
  });

  it('fails a push alone', async () => {
    const gatherer = open();
    const pushes = Promise.allSettled([gatherer.push('t', of('1')), gatherer.push('t', of('2'))]);
    await untilRequests(1);
    const error = new KqError('KQ_TOO_LARGE', 'too large');
    requests[0]!.answer(error, { partition: 3, offset: 7n });
    await expect(pushes).resolves.toEqual([
      { status: 'rejected', reason: error },
      { status: 'fulfilled', value: { partition: 3, offset: 7n } },
    ]);
  });

  it('sends a larger message alone, and the others around it', async () => {
    const gatherer = open({ requestBytes: 200 });
    const large = 'x'.repeat(300);
    const pushes = ['1', large, '2', '3'].map((value) => gatherer.push('t', of(value)));
    await untilRequests(3);
    for (const request of requests) request.answer();
    await Promise.all(pushes);
    expect(requests.map(({ values }) => values)).toEqual([['1'], [large], ['2', '3']]);
  });

  it('refuses at once what would be too much, and takes messages again after an answer', async () => {
    const gatherer = open({ messages: 1 });
    const first = gatherer.push('t', of('1'));
    await expect(gatherer.push('t', of('2'))).rejects.toThrow(
      /^KQ_FULL: 1 messages of 65 bytes are awaiting/,
    );
    await untilRequests(1);
    requests[0]!.answer();
    await first;
    const next = gatherer.push('t', of('3'));
    await untilRequests(2);
    requests[1]!.answer();
    await next;
  });

  it('takes a single message larger than all that may wait, since the brokers decide about its size', async () => {
    const gatherer = open({ bytes: 10 });
    const push = gatherer.push('t', of('x'.repeat(50)));
    await untilRequests(1);
    requests[0]!.answer();
    await push;
  });

  it('flushes what was pushed before, and does not wait for what is pushed after', async () => {
    const gatherer = open();
    await gatherer.flush();
    const pushes = [gatherer.push('a', of('1')), gatherer.push('b', of('2'))];
    const order: string[] = [];
    void pushes[0]!.then(() => order.push('a'));
    void pushes[1]!.then(() => order.push('b'));
    const flushed = gatherer.flush().then(() => order.push('flushed'));
    await untilRequests(2);
    const later = gatherer.push('a', of('3'));
    requests[1]!.answer();
    await pushes[1];
    requests[0]!.answer();
    await flushed;
    expect(order).toEqual(['b', 'a', 'flushed']);
    await untilRequests(3);
    requests[2]!.answer();
    await later;
  });

  it('says when half of its room is taken, and when answers come', async () => {
    const gatherer = open({ messages: 4 });
    const first = gatherer.push('t', of('1'));
    expect(gatherer.crowded).toBe(false);
    const second = gatherer.push('t', of('2'));
    expect(gatherer.crowded).toBe(true);
    const answers = gatherer.answers();
    await untilRequests(1);
    requests[0]!.answer();
    await answers;
    expect(gatherer.crowded).toBe(false);
    await Promise.all([first, second]);
  });
});
