import { describe, expect, it } from '@jest/globals';
import type { AddResult } from '../api/job.js';
import type { Verb } from '../ledger/ledger.js';
import { embedded, failure, scripted } from '../../spec-support/producing.js';

const outcome = ({ receipt, error }: AddResult) => (receipt ? receipt.status : error.code);
const payloadOf = (text: string) => JSON.parse(text) as number;

describe('addMany', () => {
  it('schedules all, and returns a result for each in the order given', async () => {
    const { producer, clock, copies } = await embedded();
    const results = await producer.addMany(
      't',
      Array.from({ length: 2_000 }, (_, i) => ({ payload: i, delay: i })),
      { results: true },
    );
    expect(results.map(outcome)).toEqual(Array<string>(2_000).fill('added'));
    expect(results.map(({ receipt }) => receipt!.dueAt.getTime() - clock.wall())).toEqual([
      ...Array(2_000).keys(),
    ]);
    const primaries = (await copies()).filter(({ header }) => header.index === 0);
    const byId = new Map(primaries.map(({ header, payload }) => [header.id, payloadOf(payload)]));
    expect(results.map(({ receipt }) => byId.get(receipt!.id))).toEqual([...Array(2_000).keys()]);
  });

  it('reports each invalid job, and stores the others', async () => {
    const { producer, payloads } = await embedded();
    const results = await producer.addMany(
      't',
      [
        { payload: 1, delay: '1m' },
        { payload: 5n, delay: '1m' },
        { payload: 2, delay: 'soon' as '1s' },
        { payload: 3, delay: '1m', attempts: 0 },
        { payload: 4, delay: '1m', priority: 'high', headers: { tenant: 'x' } },
      ],
      { results: true },
    );
    expect(results.map(outcome)).toEqual([
      'added',
      'DQ_BAD_PAYLOAD',
      'DQ_BAD_DURATION',
      'DQ_BAD_OPTION',
      'added',
    ]);
    expect(results.every(({ receipt, error }) => (receipt === undefined) !== (error === undefined))).toBe(
      true,
    );
    expect(new Set(await payloads())).toEqual(new Set(['1', '4']));
  });

  it('rejects with all failures where some fail, and stores the others', async () => {
    const { producer, payloads } = await embedded();
    const error = await failure(
      producer.addMany('t', [
        { payload: 1, delay: '1m' },
        { payload: 5n, delay: '1m' },
        { payload: 2 },
        { payload: 3, delay: 'soon' as '1s' },
      ]),
    );
    expect(error.message).toMatch(/^DQ_BAD_PAYLOAD: 2 of 4 jobs were not added; job 1 of the list: /);
    expect(error.indeterminate).toBe(false);
    expect(error.failures!.map((failed) => [failed.index, failed.error.code])).toEqual([
      [1, 'DQ_BAD_PAYLOAD'],
      [3, 'DQ_BAD_DURATION'],
    ]);
    expect(error.cause).toBe(error.failures![0]!.error);
    expect(new Set(await payloads())).toEqual(new Set(['1', '2']));
  });

  it('resolves with the receipts in the order given', async () => {
    const { producer, clock } = await embedded();
    const now = clock.wall();
    const receipts = await producer.addMany('t', [
      { payload: 1, delay: '1m' },
      { payload: 2, at: now + 5 },
      { payload: 3 },
    ]);
    expect(receipts.map(({ dueAt }) => dueAt.getTime() - now)).toEqual([60_000, 5, 0]);
  });

  it.each<[string, object, string]>([
    ['DQ_BAD_OPTION', { delay: '1m', at: new Date() }, 'a job has both `delay` and `at`'],
    ['DQ_BAD_DURATION', { delay: undefined }, 'the delay is undefined'],
    ['DQ_BAD_TIME', { at: undefined }, 'undefined'],
  ])('refuses as %s a job with the time %p', async (code, time, message) => {
    const { producer, copies } = await embedded();
    const error = await failure(producer.addMany('t', [{ payload: 1, ...time } as { payload: number }]));
    expect([error.code, error.message]).toEqual([code, expect.stringContaining(message)]);
    expect(await copies()).toEqual([]);
  });

  it('refuses options that do not exist', async () => {
    const { producer } = await embedded();
    const error = await failure(producer.addMany('t', [], { result: true } as object));
    expect(error.message).toBe(
      'DQ_BAD_OPTION: unknown "result" in the addMany options: expected one of results',
    );
  });

  it('survives any number of invalid ones', async () => {
    const { producer } = await embedded();
    const results = await producer.addMany(
      't',
      Array.from({ length: 20_000 }, () => ({ payload: 1, delay: -1 })),
      { results: true },
    );
    expect(new Set(results.map(outcome))).toEqual(new Set(['DQ_BAD_DURATION']));
    expect(results).toHaveLength(20_000);
  });

  it('counts each delay from the call, however long the others take', async () => {
    const { producer, clock, servers } = await scripted();
    for (const server of servers) server.freeze();
    const added = producer.addMany(
      't',
      Array.from({ length: 600 }, () => ({ payload: 1, delay: '1m' })),
      { results: true },
    );
    const calledAt = clock.wall();
    await clock.advance(300);
    for (const server of servers) server.thaw();
    await clock.advance(2_000);
    const last = (await added).at(-1)!;
    expect(last.receipt?.dueAt.getTime()).toBe(calledAt + 60_000);
  });

  it('keeps no more in flight than a node can answer in time', async () => {
    const { producer, clock, servers } = await scripted();
    for (const server of servers) server.freeze();
    void producer.addMany(
      't',
      Array.from({ length: 5_000 }, () => ({ payload: 1, delay: '1m' })),
    );
    await clock.advance(100);
    for (const server of servers) server.thaw();
    const backups = servers.flatMap(({ arrived }) => arrived).filter(({ line }) => line.startsWith('put '));
    expect(backups).toHaveLength(2 * 512);
  });

  it('takes any iterable, and no job at all', async () => {
    const { producer } = await embedded();
    function* jobs() {
      yield { payload: 1, delay: '1m' } as const;
      yield { payload: 2, delay: '1m' } as const;
    }
    expect((await producer.addMany('t', jobs(), { results: true })).map(outcome)).toEqual(['added', 'added']);
    expect(await producer.addMany('t', [], { results: true })).toEqual([]);
  });

  it('stores nothing where the iterable fails midway', async () => {
    const { producer, copies } = await embedded();
    function* jobs() {
      yield { payload: 1, delay: '1m' } as const;
      throw new Error('no more rows');
    }
    await expect(producer.addMany('t', jobs(), { results: true })).rejects.toThrow('no more rows');
    expect(await copies()).toEqual([]);
  });

  it.each<[string, unknown, string]>([
    ['DQ_BAD_OPTION', undefined, 'the jobs are undefined: expected an array'],
    ['DQ_BAD_OPTION', { payload: 1, delay: 1 }, 'the jobs are {"payload":1,"delay":1}: expected an array'],
    ['DQ_BAD_OPTION', [{ payload: 1, delay: 1 }, null], 'job 1 of the list is null: expected an object'],
    ['DQ_BAD_OPTION', [undefined], 'job 0 of the list is undefined: expected an object'],
    ['DQ_BAD_OPTION', 'text', 'the jobs are "text": expected an array'],
  ])('refuses as %s a list that has no jobs: %p', async (code, jobs, message) => {
    const { producer, copies } = await embedded();
    const error = await failure(producer.addMany('t', jobs as []));
    expect([error.code, error.message]).toEqual([code, expect.stringContaining(message)]);
    expect(await copies()).toEqual([]);
  });

  it('refuses a wrong tube, and a closed module, as a whole', async () => {
    const { producer } = await embedded();
    expect((await failure(producer.addMany('no tube', []))).code).toBe('DQ_BAD_TUBE');
    void producer.close();
    expect((await failure(producer.addMany('t', []))).code).toBe('DQ_CLOSED');
  });

  it('reports those that a close in between left out', async () => {
    const { producer } = await embedded();
    const added = producer.addMany(
      't',
      Array.from({ length: 1_000 }, () => ({ payload: 1, delay: '1m' })),
      { results: true },
    );
    await Promise.resolve();
    void producer.close();
    expect(new Set((await added).map(outcome))).toEqual(new Set(['DQ_CLOSED']));
  });
});

describe('addMany of jobs with an instant', () => {
  it('gives each job its own', async () => {
    const { producer, clock } = await embedded();
    const now = clock.wall();
    const results = await producer.addMany(
      't',
      [
        { payload: 1, at: now + 5 },
        { payload: 2, at: new Date(now + 60_000) },
        { payload: 3, at: now - 5_000 },
        { payload: 4, at: now - 5_000, allowPast: true },
      ],
      { results: true },
    );
    expect(results.map(outcome)).toEqual(['added', 'added', 'DQ_PAST_TIME', 'added']);
    const dues = results.map(({ receipt }) => receipt && receipt.dueAt.getTime() - now);
    expect(dues).toEqual([5, 60_000, undefined, 0]);
  });
});

describe('adds with keys that are made at once', () => {
  const keyed = (keys: readonly string[]) =>
    keys.map((key, i) => ({ payload: i, delay: '1m' as const, key }));
  const calls = (asked: readonly Verb[], call: Verb) => asked.filter((each) => each === call);

  it('share their calls to the ledger', async () => {
    const { producer, ledger } = await embedded();
    const keys = Array.from({ length: 100 }, (_, i) => `k${i}`);
    const results = await producer.addMany('t', keyed(keys), { results: true });
    expect(results.map(({ receipt }) => receipt?.key)).toEqual(keys);
    expect(calls(ledger.asked, 'open')).toHaveLength(1);
    // As many as there are answers of nodes by which the last copy of some is stored.
    expect(calls(ledger.asked, 'commit').length).toBeLessThanOrEqual(3);
  });

  it('do so when they are made one by one, too', async () => {
    const { producer, ledger } = await embedded();
    await producer.delay('t', 0, '1m'); // ledger time is known from now on
    await Promise.all([1, 2, 3].map((i) => producer.delay('t', i, '1m', { key: String(i) })));
    expect(calls(ledger.asked, 'open')).toHaveLength(1);
  });

  it('wait here while two calls are in flight, where no deadline runs', async () => {
    const { producer, ledger, clock } = await embedded();
    await producer.delay('t', 0, '1m');
    let release: (() => void)[] = [];
    ledger.gate = (call) => (call === 'open' ? new Promise((resolve) => release.push(resolve)) : undefined);
    const keys = Array.from({ length: 1_000 }, (_, i) => `k${i}`);
    const adds = Promise.all(keys.map((key) => producer.delay('t', 0, '1m', { key })));
    const sizes: number[] = [];
    for (let left = true; left;) {
      await clock.advance(0);
      sizes.push(release.length);
      const held = release;
      release = [];
      held.forEach((go) => go());
      left = held.length > 0;
    }
    expect(sizes).toEqual([2, 2, 2, 2, 0]); // eight times 128 is enough for a thousand
    expect(new Set((await adds).map(({ status }) => status))).toEqual(new Set(['added']));
  });

  it('are decided one after the other where two have the same key', async () => {
    const { producer, memory, payloads, clock } = await embedded();
    const results = await producer.addMany('t', keyed(['a', 'a', 'b']), { results: true });
    expect(results.map(outcome)).toEqual(['added', 'replaced', 'added']);
    await clock.advance(0);
    expect(new Set(await payloads())).toEqual(new Set(['1', '2']));
    const [a] = await memory.tube('t').find([results[0]!.receipt!.id]);
    expect(a?.state).toBe('waiting');
  });

  it('all fail while the ledger is away', async () => {
    const { producer, ledger, copies } = await embedded();
    await producer.delay('t', 0, '1m');
    ledger.down = true;
    const results = await producer.addMany('t', keyed(['a', 'b']), { results: true });
    expect(results.map(outcome)).toEqual(['DQ_LEDGER_DOWN', 'DQ_LEDGER_DOWN']);
    expect(await copies()).toHaveLength(3);
  });

  it('do not fail for each other where the ledger fails at one', async () => {
    const { producer, ledger } = await embedded();
    ledger.fail('open', 'lost');
    const results = await producer.addMany('t', keyed(['a', 'b', 'c']), { results: true });
    expect(results.map(outcome)).toEqual(['added', 'added', 'added']);
    expect(calls(ledger.asked, 'open')).toHaveLength(4);
  });
});
