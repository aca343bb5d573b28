import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { Handled } from '../../spec-support/handled.js';
import { Discard, Retry } from '../api/outcome.js';
import type { KqMessage } from '../api/received.js';
import { defineTopic } from '../api/topic.js';
import type { OutgoingMessage } from '../driver/message.js';
import { KqError } from '../errors.js';
import { systemClock } from 'nest-handlers/time';
import { resolveFailureOptions } from './failure-options.js';
import { HandlerRuns } from './handler-runs.js';

const slip = new Error('slip');

let handled: Handled;
beforeEach(() => {
  handled = new Handled();
});
afterEach(() => handled.close());

describe('HandlerRuns', () => {
  it('gives value and message, and takes what the handler returns', async () => {
    let seen: unknown;
    await handled.consume(
      (value: unknown, message: KqMessage) => {
        const { topic, partition, offset, key, attempt, attempts } = message;
        seen = { value, same: message.value === value, topic, partition, offset, key, attempt, attempts };
        expect([message.header('a'), message.header('b'), message.header('c')]).toEqual([
          '1',
          '2',
          undefined,
        ]);
        return { handled: false }; // any result means handled
      },
      { deadLetter: 'drop' },
    );
    const headers = { a: Buffer.from('1'), b: [Buffer.from('2'), Buffer.from('3')] };
    await handled.driver
      .producer()
      .send('t', [{ key: Buffer.from('k'), value: Buffer.from('{"a":1}'), headers }]);
    await handled.untilCommitted(1n);
    expect(seen).toEqual({
      value: { a: 1 },
      same: true,
      topic: 't',
      partition: 0,
      offset: '0',
      key: 'k',
      attempt: 1,
      attempts: 3,
    });
    expect(handled.told).toEqual([]);
  });

  it.each<[string, (size: number) => unknown, string]>([
    ['an error', () => slip, 'an error, treated as thrown: slip'],
    ['a class of outcomes', () => Discard, 'the class Discard: expected the result of one of its methods'],
    [
      'a generator',
      async function* () {
        yield 1;
      },
      'a generator, none of which has run: expected an async method without *',
    ],
  ])('fails where a handler returns %s, including one of batches', async (_what, handler, wrong) => {
    const errors: string[] = [];
    handled.events.on('dropped').subscribe(({ error }) => errors.push(error.message));
    await handled.consume(() => handler(1), { retry: { attempts: 1 }, deadLetter: 'drop' });
    await handled.push('1');
    await handled.untilCommitted(1n);
    await handled.stop();
    await handled.consume(() => handler(2), { size: 2, retry: { attempts: 1 }, deadLetter: 'drop' });
    await handled.push('2');
    await handled.untilCommitted(2n);
    expect(errors).toEqual(Array(2).fill(`KQ_BAD_OPTION: the handler of t returned ${wrong}`));
  });

  it('lets a message wait, with all its attempts, while no registry can say what it is', async () => {
    let asked = 0;
    const answers = [new KqError('KQ_REGISTRY', 'away'), new KqError('KQ_REGISTRY', 'away'), 'read'];
    const decode = async () => {
      const answer = answers[Math.min(asked++, 2)];
      if (answer instanceof KqError) throw answer;
      return answer;
    };
    const topic = defineTopic('t', { format: { name: 'own', encode: (value: Buffer) => value, decode } });
    const attempts: number[] = [];
    await handled.consume(
      (_value: unknown, { attempt }: KqMessage) => {
        attempts.push(attempt);
        throw slip;
      },
      { topic, retry: { attempts: 2, backoff: 1 }, deadLetter: 'drop' },
    );
    await handled.push('1');
    await handled.untilCommitted(1n);
    expect(attempts).toEqual([1, 2]);
    expect(handled.told).toEqual([
      '1 failed: KQ_REGISTRY: away, again in 1000',
      '1 failed: KQ_REGISTRY: away, again in 2000',
      'read failed: slip, again in 1',
      'read dropped: attempts',
    ]);
  });

  it.each([
    ['waits for a registry in the same run', false],
    ['waits no longer once nobody waits for the run', true],
  ])('of nest-dq %s', async (_what, cut) => {
    const stopping = new AbortController();
    let asked = 0;
    const decode = async () => {
      if (asked++ < 2) throw new KqError('KQ_REGISTRY', 'away');
      return 'read';
    };
    const after = (_: number, callback: () => void) => {
      if (cut) queueMicrotask(() => stopping.abort());
      else queueMicrotask(callback);
      return { cancel: () => undefined };
    };
    const attempts: number[] = [];
    const runs = new HandlerRuns(
      { ...systemClock, after },
      {
        group: 'g',
        topic: defineTopic('t', { format: { name: 'own', encode: (value: Buffer) => value, decode } }),
        handler: (_value, { attempt }: KqMessage) => void attempts.push(attempt),
        batches: false,
        settings: resolveFailureOptions(
          { retry: { attempts: 2 }, deadLetter: 'drop' },
          { topics: ['t'], group: 'g', dq: false },
        ),
        events: handled.events,
        store: async () => undefined,
      },
    );
    const message = { offset: 5n, timestamp: 0, key: null, value: Buffer.from('1'), headers: {} };
    const outcome = await runs.runLater({ topic: 't', partition: 0, message, runs: 1 }, stopping.signal);
    expect(outcome).toEqual(cut ? expect.objectContaining({ kind: 'again' }) : 'handled');
    expect(attempts).toEqual(cut ? [] : [2]);
  });

  it('treats a value that a format refuses as unreadable', async () => {
    const decode = () => {
      throw new RangeError('index out of range');
    };
    const topic = defineTopic('t', { format: { name: 'own', encode: (value: Buffer) => value, decode } });
    await handled.consume(() => undefined, { topic, deadLetter: 'drop' });
    await handled.push('1');
    await handled.untilCommitted(1n);
    expect(handled.told).toEqual(['1 dropped: unreadable']);
  });

  it('awaits a thenable, such as a query that runs only then', async () => {
    let runs = 0;
    await handled.consume(
      () => {
        const query = new Promise<void>((resolve, reject) => (++runs === 1 ? reject(slip) : resolve()));
        // oxlint-disable-next-line unicorn/no-thenable -- it is what this is about
        return { then: query.then.bind(query) };
      },
      { retry: { attempts: 2, backoff: 1 }, deadLetter: 'drop' },
    );
    await handled.push('1');
    await handled.untilCommitted(1n);
    expect(handled.told).toEqual(['1 failed: slip, again in 1']);
    expect(runs).toBe(2);
  });

  it('runs a message again before later ones, then stores it and continues', async () => {
    await handled.consume(
      (value: number, { attempt }: KqMessage) => {
        handled.tell(`${value} runs ${attempt}`);
        if (value === 1) throw slip;
      },
      { retry: { attempts: 2, backoff: 5 }, deadLetter: 'dead' },
    );
    await handled.push('1', '2');
    await handled.untilCommitted(2n);
    expect(handled.told).toEqual([
      '1 runs 1',
      '1 failed: slip, again in 5',
      '1 runs 2',
      '1 died in dead: attempts after 2, slip',
      '2 runs 1',
    ]);
    expect((await handled.driver.admin.ends('dead'))[0]).toMatchObject({ end: 1n });
  });

  it('obeys Retry and Discard, returned or thrown', async () => {
    await handled.consume(
      (value: number, { attempt }: KqMessage) => {
        if (value === 1) return attempt === 1 ? Retry.after(7) : undefined;
        throw Discard.because('gone');
      },
      { deadLetter: 'drop' },
    );
    await handled.push('1', '2');
    await handled.untilCommitted(2n);
    expect(handled.told).toEqual(['1 failed: retry after 7 ms, again in 7', '2 dropped: discarded']);
  });

  it('calls no handler for an unreadable value, and treats an error of the schema as a failure', async () => {
    let slips = 1;
    const schema: StandardSchemaV1<number, number> = {
      '~standard': {
        version: 1,
        vendor: 'specs',
        validate: async (value) => {
          if (value === 3 && slips-- > 0) throw slip;
          return value === 2 ? { issues: [{ message: 'not 2' }] } : { value: Number(value) * 10 };
        },
      },
    };
    await handled.consume((value: number) => handled.tell(`${value} runs`), {
      topic: defineTopic('t', { schema }),
      deadLetter: 'dead',
    });
    await handled.push('{', '2', '3');
    await handled.untilCommitted(3n);
    expect(handled.told).toEqual([
      "{ died in dead: unreadable after 0, KQ_BAD_MESSAGE: the stored value is '{': expected JSON",
      "2 died in dead: unreadable after 0, KQ_BAD_MESSAGE: the schema of 't' rejects the value: not 2",
      '3 failed: slip, again in 1000',
      '30 runs',
    ]);
  });

  it('holds the order while the letter cannot be stored, and does not run the handler for that', async () => {
    const letters: OutgoingMessage[] = [];
    await handled.consume(
      (value: number) => {
        handled.tell(`${value} runs`);
        if (value === 1) throw slip;
      },
      {
        retry: { attempts: 1 },
        deadLetter: 'dead',
        store: async (_, letter) => {
          if (letters.push(letter) < 3) throw new KqError('KQ_UNKNOWN_TOPIC', 'there is no topic dead');
        },
      },
    );
    await handled.push('1', '2');
    await handled.untilCommitted(2n);
    expect(handled.told).toEqual([
      '1 runs',
      '1 held: attempts, KQ_UNKNOWN_TOPIC: there is no topic dead, again in 1000',
      '1 held: attempts, KQ_UNKNOWN_TOPIC: there is no topic dead, again in 2000',
      '1 died in dead: attempts after 1, slip',
      '2 runs',
    ]);
    expect(String(letters[2]!.headers!['kq-attempts'])).toBe('1');
  });

  it('stores a poison message in a topic of its own by default, and continues', async () => {
    await handled.consume((value: number, { attempt }: KqMessage) => {
      handled.tell(`${value} runs ${attempt}`);
      if (value === 1) throw slip;
    }, {});
    await handled.push('{', '1', '2');
    await handled.untilCommitted(3n);
    expect(handled.told).toEqual([
      "{ died in t.g.kq-dead: unreadable after 0, KQ_BAD_MESSAGE: the stored value is '{': expected JSON",
      '1 runs 1',
      '1 failed: slip, again in 1000',
      '1 runs 2',
      '1 failed: slip, again in 2000',
      '1 runs 3',
      '1 died in t.g.kq-dead: attempts after 3, slip',
      '2 runs 1',
    ]);
    const letters = handled.driver.stored('t.g.kq-dead').map(({ message }) => message);
    expect(letters.map(({ value, headers }) => [String(value), String(headers['kq-offset'])])).toEqual([
      ['{', '0'],
      ['1', '1'],
    ]);
  });

  it('gives a message to nest-dq after three runs in place where that is there', async () => {
    const jobs: unknown[] = [];
    await handled.consume(
      () => {
        throw slip;
      },
      {
        delays: {
          retry: async (group, { message: { offset }, runs }, after, attempts) => {
            jobs.push({ group, offset, runs, after, attempts });
          },
        },
      },
    );
    await handled.push('1');
    await handled.untilCommitted(1n);
    expect(jobs).toEqual([{ group: 'g', offset: 0n, runs: 3, after: 4_000, attempts: 7 }]);
  });

  it('leaves a job all of its attempts, however long nest-dq could not take it', async () => {
    const jobs: unknown[] = [];
    let away = 20;
    await handled.consume(
      () => {
        throw slip;
      },
      {
        retry: { through: 'dq', attempts: 3 },
        delays: {
          retry: async (_group, { runs }, _after, attempts) => {
            if (away-- > 0) throw new KqError('KQ_AWAY', 'Redis is away');
            jobs.push({ runs, attempts });
          },
        },
      },
    );
    await handled.push('1');
    await handled.untilCommitted(1n);
    expect(jobs).toEqual([{ runs: 1, attempts: 2 }]);
  });

  it('does not retry hopeless errors, and chooses the place by the error', async () => {
    await handled.consume(
      (value: number) => {
        throw value === 1 ? new RangeError('hopeless') : new TypeError('hopeless, too');
      },
      {
        retry: { retryOn: RangeError, notRetryOn: ({ message }) => message === 'hopeless' },
        deadLetter: (error) => (error instanceof RangeError ? 'ranges' : 'drop'),
      },
    );
    await handled.push('1', '2');
    await handled.untilCommitted(2n);
    expect(handled.told).toEqual(['1 died in ranges: notRetried after 1, hopeless', '2 dropped: notRetried']);
  });

  it('holds a message whose place the application chooses wrongly, and loses none', async () => {
    let right = false;
    await handled.consume(() => Discard.because('gone'), {
      deadLetter: () => (right ? 'dead' : 't'),
    });
    await handled.push('1');
    await handled.untilTold(1);
    expect(handled.told[0]).toMatch(
      "1 held: discarded, KQ_BAD_OPTION: `deadLetter` is 't': expected a topic the handler does not consume itself",
    );
    right = true;
    await handled.untilCommitted(1n);
    expect(handled.told.at(-1)).toBe('1 died in dead: discarded after 1, gone');
  });

  it('has results by message in a batch', async () => {
    const seen: number[][] = [];
    await handled.consume(
      (values: number[], messages: KqMessage[]) => {
        expect(messages.map(({ value }) => value)).toEqual(values);
        seen.push(values);
        return Promise.allSettled(
          values.map(async (value, index) => {
            if (value === 2 && messages[index]!.attempt === 1) throw slip;
            return value === 3 ? Discard.because('gone') : value;
          }),
        );
      },
      { size: 4, deadLetter: 'drop', retry: { backoff: 5 } },
    );
    await handled.push('1', '{', '2', '3');
    await handled.untilCommitted(4n);
    expect(seen).toEqual([[1, 2, 3], [2]]);
    expect(handled.told.toSorted()).toEqual([
      '2 failed: slip, again in 5',
      '3 dropped: discarded',
      '{ dropped: unreadable',
    ]);
  });
});
