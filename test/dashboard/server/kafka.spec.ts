import { describe, expect, it, jest } from '@jest/globals';
import { Injectable, type DynamicModule } from '@nestjs/common';
import { DqEvents } from 'nest-dq';
import type { OperatorAct } from 'nest-dq/operate';
import type { DqDashboardOptions } from 'nest-dq/dashboard';
import {
  Discard,
  getKqToken,
  KqDeadLetters,
  KqModule,
  KqPusher,
  TopicHandler,
  type DriverFactory,
  type KqMessage,
} from 'nest-kq';
import type { LogAdmin } from 'nest-kq/src/driver/driver.js';
import { MemoryDriver } from 'nest-kq/src/driver/memory/memory-driver.js';
import { eventually } from 'test-servers';
import { PLATFORMS, ServedApp, type Platform } from './served-app.js';

const DEAD = 'orders.shop.kq-dead';
const KAFKA = '/dq/api/kafka';
const LETTER = `${KAFKA}/letter?topic=${DEAD}&partition=0`;

@Injectable()
class Orders {
  works = false;
  readonly handled: unknown[] = [];

  @TopicHandler('orders', { group: 'shop' })
  handle(value: { because: string }, { key }: KqMessage): void {
    if (!this.works) throw Discard.because(value?.because ?? 'no value');
    this.handled.push([key, value]);
  }
}

/** A log in memory with these topics of one partition. */
function kafka(topics: readonly string[], name?: string): DynamicModule {
  const driver = ({ clock, log }: Parameters<DriverFactory>[0]) => {
    const made = new MemoryDriver({ clock, log, partitions: 1, autoCreate: false });
    void made.admin.createTopics(topics.map((topic) => ({ topic })));
    return made;
  };
  return KqModule.forRoot({
    brokers: ['none:1'],
    driver,
    ...(name !== undefined && { name, isGlobal: false }),
  });
}

/** With a dead letter for each of these. */
async function withDead(
  { platform = 'express', dashboard = {} }: { platform?: Platform; dashboard?: DqDashboardOptions } = {},
  ...because: readonly string[]
): Promise<ServedApp> {
  const imports = [kafka(['orders', 'letters'])];
  const served = await ServedApp.start({ platform, dashboard, providers: [Orders], imports });
  for (const [id, each] of because.entries()) {
    const headers = { token: 'xyzzy' };
    const value = { because: each, card: 4711 };
    await served.app.get(KqPusher).push('orders', value, { key: `k-${each}`, headers });
    await eventually('it is dead', async () => (await openLetters(served)).length === id + 1);
  }
  return served;
}

async function openLetters(served: ServedApp, topic = DEAD): Promise<string[]> {
  const dead = served.app.get(KqDeadLetters);
  if (!(await dead.topics()).includes(topic)) return [];
  return (await dead.list(topic)).letters.map(({ error }) => error.message);
}

async function linesOf(response: Response): Promise<any[]> {
  const text = await response.text();
  return text.trimEnd().split('\n').map((line) => JSON.parse(line)); // oxfmt-ignore
}

describe.each(PLATFORMS)('with %s', (platform) => {
  it('lists topics and letters by filter and page, without values and headers', async () => {
    const served = await withDead({ platform }, 'no stock', 'no user', 'no stock');
    expect((await served.get('/dq/api/session')).json).toMatchObject({ kafka: [''] });
    expect((await served.get(`${KAFKA}/topics`)).json).toEqual([DEAD]);
    expect((await served.get(`${KAFKA}/count?topic=${DEAD}`)).json).toEqual({
      letters: 3,
      more: false,
      newest: expect.any(String),
    });
    const page = await served.get(`${KAFKA}/letters?topic=${DEAD}&limit=2`);
    expect(page.json).toEqual({
      letters: [
        expect.objectContaining({ partition: 0, offset: '2', key: 'k-no stock' }),
        {
          partition: 0,
          offset: '1',
          origin: { topic: 'orders', partition: 0, offset: '1' },
          group: 'shop',
          key: 'k-no user',
          diedAt: expect.stringMatching(/^\d{4}-.*Z$/),
          why: 'discarded',
          attempts: 1,
          error: { name: 'Discard', message: 'no user' },
          valueBytes: 33,
        },
      ],
      cursor: expect.any(String),
    });
    const next = await served.get(`${KAFKA}/letters?topic=${DEAD}&limit=2&cursor=${page.json.cursor}`);
    expect(next.json.letters).toMatchObject([{ offset: '0' }]);
    for (const [filter, offsets] of [
      ['error=stock', ['2', '0']],
      ['key=k-no%20user', ['1']],
      ['origin=orders&from=2020-01-01T00:00:00Z', ['2', '1', '0']],
      ['origin=mails', []],
      ['to=2020-01-01T00:00:00Z', []],
    ] as const) {
      const { json } = await served.get(`${KAFKA}/letters?topic=${DEAD}&${filter}`);
      expect([filter, json.letters.map(({ offset }: any) => offset)]).toEqual([filter, offsets]);
    }
    const whole = await served.get(`${LETTER}&offset=1`);
    expect(whole.json).toMatchObject({
      error: { message: 'no user', stack: expect.stringContaining('no user') },
      timestamp: expect.any(Number),
      resolved: false,
    });
    for (const { text } of [page, whole]) expect(text).not.toMatch(/xyzzy|4711/);
  });

  it('replays a letter, and says so if someone did before', async () => {
    const served = await withDead({ platform }, 'no stock');
    const orders = served.app.get(Orders);
    orders.works = true;
    const body = { topic: DEAD, partition: 0, offset: '0' };
    expect((await served.post('/dq/api/acts/kafkaReplay', body)).json).toEqual({ result: 'replayed' });
    await eventually('it is handled', () => orders.handled.length === 1);
    expect(orders.handled).toEqual([['k-no stock', { because: 'no stock', card: 4711 }]]);
    for (const act of ['kafkaReplay', 'kafkaDiscard'])
      expect((await served.post(`/dq/api/acts/${act}`, body)).json).toEqual({ result: 'resolved' });
    expect((await served.get(`${LETTER}&offset=0`)).json).toMatchObject({ resolved: true });
  });

  it('counts what a bulk act would change, changes it, and reports who did', async () => {
    const access = () => ({ acts: 'all', by: 'ann' }) as const;
    const served = await withDead({ platform, dashboard: { access } }, 'no stock', 'no user', 'no stock');
    const operated: OperatorAct[] = [];
    served.app.get(DqEvents).on('operated').subscribe((act) => void operated.push(act)); // oxfmt-ignore
    const body = { topic: DEAD, filter: { error: 'stock' } };
    const many = async (act: string, more: object) =>
      linesOf(await served.begin(`/dq/api/acts/${act}`, { ...body, ...more }));
    const dry = await many('kafkaDiscardMany', { dryRun: true });
    expect(dry.slice(-2)).toEqual([
      {
        progress: {
          done: 2,
          failed: 0,
          skipped: 0,
          failures: [],
          examples: ['2', '0'].map((offset) => ({
            id: `0/${offset}`,
            key: 'k-no stock',
            diedAt: expect.any(String),
          })),
        },
      },
      { end: true },
    ]);
    expect(await openLetters(served)).toHaveLength(3);
    expect(operated).toEqual([]);
    const one = await many('kafkaDiscardMany', { filter: { error: 'stock', limit: 1 } });
    expect(one.at(-2)).toMatchObject({ progress: { done: 1, examples: [] } });
    expect(await openLetters(served)).toEqual(['no stock', 'no user']);
    served.app.get(Orders).works = true;
    const replayed = await many('kafkaReplayMany', { filter: {}, groups: 'failed' });
    expect(replayed.slice(-2)).toMatchObject([{ progress: { done: 2 } }, { end: true }]);
    expect(await openLetters(served)).toEqual([]);
    await served.post('/dq/api/acts/kafkaDiscard', { topic: DEAD, partition: 0, offset: '0' });
    const filter = { error: 'stock', limit: 1 };
    expect(operated).toEqual([
      { by: 'ann', act: 'kafkaDiscardMany', on: { topic: DEAD, filter }, count: 1 },
      { by: 'ann', act: 'kafkaReplayMany', on: { topic: DEAD, filter: {} }, count: 2 },
      { by: 'ann', act: 'kafkaDiscard', on: { topic: DEAD, id: '0/0' }, count: 0 },
    ]);
    const { json } = await served.get('/dq/api/acts');
    expect(json.acts.map(({ on }: OperatorAct) => on)).toEqual(operated.toReversed().map(({ on }) => on));
  });

  it('lets a viewer without the right do nothing, and see neither value nor headers', async () => {
    const viewers: DqDashboardOptions[] = [
      { access: () => 'read' },
      { access: () => ({ acts: ['revive', 'discard', 'discardMany'] }) },
      { access: () => ({ acts: 'all' }), readOnly: true },
    ];
    for (const dashboard of viewers) {
      const served = await withDead({ platform, dashboard }, 'no stock');
      const place = { partition: 0, offset: '0' };
      for (const [act, which] of [
        ['kafkaReplay', place],
        ['kafkaDiscard', place],
        ['kafkaReplayMany', { filter: {} }],
        ['kafkaDiscardMany', { filter: {} }],
      ] as const) {
        const { status, json } = await served.post(`/dq/api/acts/${act}`, { topic: DEAD, ...which });
        expect([act, status, json.code]).toEqual([act, 403, 'NOT_ALLOWED']);
      }
      const payload = await served.get(`${KAFKA}/letter/payload?topic=${DEAD}&partition=0&offset=0`);
      expect([payload.status, payload.json.code]).toEqual([403, 'NOT_ALLOWED']);
      expect(await openLetters(served)).toEqual(['no stock']);
    }
  });

  it('another site gets no letter and cannot act on one', async () => {
    const served = await withDead({ platform }, 'no stock');
    const foreign = { 'sec-fetch-site': 'cross-site' };
    const body = { topic: DEAD, filter: {} };
    for (const answer of [
      await served.get(`${KAFKA}/letters?topic=${DEAD}`, foreign),
      await served.get(`${KAFKA}/letter/payload?topic=${DEAD}&partition=0&offset=0`, foreign),
      await served.post('/dq/api/acts/kafkaDiscardMany', body, foreign),
      await served.post('/dq/api/acts/kafkaDiscardMany', body, { 'x-nest-dq': '' }),
    ])
      expect([answer.status, answer.json.code]).toEqual([403, 'CROSS_SITE']);
    expect(await openLetters(served)).toEqual(['no stock']);
  });

  it('answers what is wrong with the value, and does nothing', async () => {
    const served = await withDead({ platform }, 'no stock');
    const wrong: [act: string, body: object, status: number, code: string, part: string][] = [
      [
        'kafkaReplay',
        { partition: 0, offset: '0' },
        400,
        'DQ_BAD_OPTION',
        '`topic` in the body is undefined',
      ],
      ['kafkaReplay', { topic: DEAD, partition: 0 }, 400, 'DQ_BAD_OPTION', '`offset` in the body'],
      ['kafkaReplay', { topic: DEAD, partition: 0, offset: 'x' }, 400, 'KQ_BAD_OPTION', "`offset` is 'x'"],
      [
        'kafkaReplay',
        { topic: DEAD, partition: 0, offset: '0', groups: 'mine' },
        400,
        'KQ_BAD_OPTION',
        "'mine'",
      ],
      ['kafkaDiscard', { topic: 'none', partition: 0, offset: '0' }, 404, 'KQ_UNKNOWN_TOPIC', 'none'],
      [
        'kafkaDiscard',
        { topic: DEAD, partition: 0, offset: '0', groups: 'all' },
        400,
        'DQ_BAD_OPTION',
        'groups',
      ],
      ['kafkaDiscardMany', { topic: DEAD }, 400, 'DQ_BAD_OPTION', '`filter` in the body is undefined'],
      ['kafkaDiscardMany', { topic: DEAD, filter: { eror: 'x' } }, 400, 'DQ_BAD_OPTION', '"eror"'],
      ['kafkaDiscardMany', { topic: DEAD, filter: { from: 'now' } }, 400, 'DQ_BAD_TIME', '"now"'],
      ['kafkaReplayMany', { topic: 'a b', filter: {} }, 400, 'KQ_BAD_TOPIC', 'a b'],
      ['kafkaReplayMany', { topic: 'none', filter: {} }, 404, 'KQ_UNKNOWN_TOPIC', 'none'],
      ['kafkaReplayMany', { cluster: 'audit', topic: DEAD, filter: {} }, 404, 'NOT_FOUND', '"audit"'],
    ];
    for (const [act, body, status, code, part] of wrong) {
      const answer = await served.post(`/dq/api/acts/${act}`, body);
      const { json } = answer;
      expect([body, answer.status, json]).toEqual([
        body,
        status,
        { code, message: expect.stringContaining(part) },
      ]);
    }
    const gone = await served.get(`${LETTER}&offset=99`);
    expect([gone.status, gone.json.code]).toEqual([404, 'NOT_FOUND']);
    expect(await openLetters(served)).toEqual(['no stock']);
  });
});

it('names partitions without a leader in lists, counts and acts on many', async () => {
  const served = await withDead({}, 'no stock');
  // As of a real cluster with a broker away: a log in memory has none.
  const admin = (served.app.get(KqDeadLetters) as unknown as { admin: LogAdmin }).admin;
  const ends = await admin.endsOfLed(DEAD);
  jest.spyOn(admin, 'endsOfLed').mockResolvedValue([...ends, undefined]);
  const list = await served.get(`${KAFKA}/letters?topic=${DEAD}`);
  expect(list.json).toEqual({ letters: [expect.anything()], leaderless: [1] });
  expect((await served.get(`${KAFKA}/count?topic=${DEAD}`)).json).toMatchObject({
    letters: 1,
    leaderless: [1],
  });
  const body = { topic: DEAD, filter: {}, dryRun: true };
  const [{ progress }] = await linesOf(await served.begin('/dq/api/acts/kafkaDiscardMany', body));
  expect(progress).toMatchObject({ done: 1, leaderless: [`${DEAD}/1`] });
});

it('says why a letter stays that cannot be replayed', async () => {
  const served = await withDead({}, 'no stock');
  const dead = served.app.get(KqDeadLetters);
  await served.app.get(KqPusher).push('letters', 'v', { headers: { 'kq-topic': 'gone' } });
  expect((await dead.list('letters')).letters).toHaveLength(1);
  const place = { topic: 'letters', partition: 0, offset: '0' };
  const { status, json } = await served.post('/dq/api/acts/kafkaReplay', place);
  expect([status, json.code]).toEqual([404, 'KQ_UNKNOWN_TOPIC']);
  expect((await dead.list('letters')).letters).toHaveLength(1);
});

describe('value and headers', () => {
  const payloadOf = async (redact?: DqDashboardOptions['redact']) => {
    const served = await withDead(redact ? { dashboard: { redact } } : {}, 'no stock');
    return served.get(`${KAFKA}/letter/payload?topic=${DEAD}&partition=0&offset=0`);
  };

  it('are shown as they are', async () => {
    expect((await payloadOf()).json).toEqual({
      payload: { headers: { token: 'xyzzy' }, value: { because: 'no stock', card: 4711 } },
    });
  });

  it('are what `redact` returned, which is called with their message', async () => {
    const messages: unknown[] = [];
    const { json, text } = await payloadOf((payload, message) => {
      messages.push(message);
      const { value } = payload as { value: object };
      return { value: { ...value, card: '…' } };
    });
    expect(json).toEqual({ payload: { value: { because: 'no stock', card: '…' } } });
    expect(text).not.toContain('xyzzy');
    expect(messages).toEqual([{ topic: 'orders', key: 'k-no stock' }]);
  });
});

it('shows nothing of Kafka where the application does not have nest-kq', async () => {
  const served = await ServedApp.start();
  expect((await served.get('/dq/api/session')).json.kafka).toEqual([]);
  for (const answer of [
    await served.get(`${KAFKA}/topics`),
    await served.get(`${LETTER}&offset=0`),
    await served.post('/dq/api/acts/kafkaReplayMany', { topic: DEAD, filter: {} }),
  ])
    expect([answer.status, answer.json.code]).toEqual([404, 'NOT_FOUND']);
});

it('distinguishes clusters by their names', async () => {
  const imports = [kafka(['orders']), kafka(['gone'], 'audit')];
  const served = await ServedApp.start({ imports });
  expect((await served.get('/dq/api/session')).json.kafka.toSorted()).toEqual(['', 'audit']);
  const letter = { headers: { 'kq-topic': 'entries' } };
  await served.app.get<KqPusher>(getKqToken('audit'), { strict: false }).push('gone', 'v', letter);
  const query = 'letters?topic=gone';
  expect((await served.get(`${KAFKA}/${query}&cluster=audit`)).json.letters).toHaveLength(1);
  expect((await served.get(`${KAFKA}/${query}`)).json.code).toBe('KQ_UNKNOWN_TOPIC');
  const unknown = await served.get(`${KAFKA}/${query}&cluster=other`);
  expect([unknown.status, unknown.json.message]).toEqual([404, expect.stringContaining('"other"')]);
});
