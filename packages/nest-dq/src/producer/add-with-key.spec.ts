import { describe, expect, it } from '@jest/globals';
import { stored } from '../../spec-support/stored.js';
import { keyedId, parseRef } from '../copies/job-ref.js';
import type { JobOptions } from '../api/job.js';
import type { JobRecord } from '../ledger/records/job-record.js';
import { settle } from '../ledger/records/owed-copies.rule.js';
import { embedded, failure, scripted } from '../../spec-support/producing.js';
import { ID, KEY, born, waiting } from '../../spec-support/keyed-job.js';

describe('an add with a key', () => {
  it('is committed in the ledger, with the places of its copies', async () => {
    const { producer, memory, clock, copies } = await embedded();
    const receipt = await producer.delay('t', { a: 1 }, '1m', { key: 'k' });
    const due = clock.wall() + 60_000;
    expect(receipt).toEqual({
      id: ID,
      ref: expect.stringMatching(/^dq1\./),
      tube: 't',
      key: 'k',
      dueAt: new Date(due),
      copies: 3,
      status: 'added',
    });
    const [schedule] = await memory.tube('t').find([ID]);
    const { places } = parseRef(receipt, '');
    expect(schedule).toEqual({
      state: 'waiting',
      born: born(receipt),
      generation: born(receipt),
      due,
      attempt: 0,
      places,
    });
    expect(places).toHaveLength(3);
    expect((await copies()).map(({ header }) => header)).toMatchObject(
      [0, 1, 2].map((index) => ({
        id: ID,
        key: 'k',
        index,
        due,
        generation: born(receipt),
        born: born(receipt),
      })),
    );
  });

  it('runs when it is due, as any job', async () => {
    const { producer, clock, copies, claim, run } = await embedded();
    await producer.delay('t', 1, '1m', { key: 'k' });
    const [primary] = await copies();
    expect(await claim(primary!)).toEqual({ kind: 'wait', ms: 60_000 });
    await clock.advance(60_000);
    const { attempt, finish } = await run(primary!);
    expect([attempt, await finish('done')]).toEqual([1, 'ok']);
  });

  it('owes every copy from its opening on, for its process may die before the commit', async () => {
    const { producer, ledger, memory, clock } = await embedded();
    const records: JobRecord[] = [];
    ledger.acted = (call) => {
      if (call === 'open') records.push({ ...memory.tube('t').records.byId.get(ID)! });
    };
    const receipt = await producer.delay('t', 1, '1m', { key: 'k' });
    const [record] = records as [JobRecord];
    expect(record.sumDue).toBe(clock.wall() + 60_000);
    settle(record, { id: ID, generation: born(receipt), mask: 0b101, unknown: false });
    expect(record.sum).toBeGreaterThan(0);
    settle(record, { id: ID, generation: born(receipt), mask: 0b010, unknown: false });
    expect(record.sum).toBe(0);
  });

  it('keeps the key out of the id', async () => {
    const { producer } = await embedded();
    const { id } = await producer.now('t', 1, { key: 'somebody@example.org' });
    expect(id).toMatch(/^[\w-]{24}$/);
    expect(id).not.toContain('somebody');
  });

  it('is one job for each tube and each prefix', async () => {
    const { producer, copies, payloads } = await embedded();
    const one = await producer.delay('t', 't', '1m', { key: 'k' });
    const other = await producer.delay('u', 'u', '1m', { key: 'k' });
    expect([one.status, other.status, one.id === other.id]).toEqual(['added', 'added', false]);
    expect([await payloads('t'), (await copies('u')).length]).toEqual([['t', 't', 't'], 3]);
    const elsewhere = await embedded(3, 'app.');
    expect((await elsewhere.producer.delay('t', 1, '1m', { key: 'k' })).id).toBe(
      keyedId(stored('app.t'), 'k'),
    );
    expect(keyedId(stored('app.t'), 'k')).not.toBe(ID);
  });

  it.each<[string, unknown]>([
    ['`key` is ""', { key: '' }],
    ['`key` is "xxx', { key: 'x'.repeat(501) }],
    ['`key` is 42', { key: 42 }],
    ['`key` is null', { key: null }],
    ['expected a `key` as well', { onDuplicate: 'keep' }],
    ['`onDuplicate` is "drop"', { key: 'k', onDuplicate: 'drop' }],
  ])('is refused before anything is asked: %s', async (text, options) => {
    const { producer, ledger, words } = await scripted();
    const { code, message } = await failure(producer.now('t', 1, options as JobOptions));
    expect([code, message]).toEqual(['DQ_BAD_OPTION', expect.stringContaining(text)]);
    expect([ledger.asked, words()]).toEqual([[], []]);
  });

  it('takes keys of 500 characters, and distinguishes those that UTF-8 does not', async () => {
    const { producer } = await embedded();
    const keys = ['x'.repeat(500), '\ud800', '\ud801', ' ', 'K', 'k'];
    const receipts = await Promise.all(keys.map((key) => producer.delay('t', 1, '1m', { key })));
    expect(new Set(receipts.map(({ id }) => id)).size).toBe(keys.length);
  });

  it('with a payload too large for its key is refused before the ledger is asked', async () => {
    const { producer, ledger, words } = await scripted();
    const key = 'k'.repeat(500);
    // The largest that is taken: found by trying, as the header has a size of its own.
    const fits = async (size: number) => {
      const result = await producer.now('t', 'x'.repeat(size), { key }).catch((error: unknown) => error);
      return !(result instanceof Error);
    };
    let [least, most] = [60_000, 65_535];
    while (most - least > 1) {
      const middle = Math.floor((least + most) / 2);
      if (await fits(middle)) least = middle;
      else most = middle;
    }
    const [asked, said] = [ledger.asked.length, words().length];
    const error = await failure(producer.now('t', 'x'.repeat(most), { key }));
    expect(error).toMatchObject({ code: 'DQ_BAD_PAYLOAD', indeterminate: false });
    expect([ledger.asked.length, words().length]).toEqual([asked, said]);
    // Each that was refused was refused there.
    expect(ledger.asked.filter((call) => call === 'open')).toHaveLength(ledger.asked.length / 2);
  });
});

describe('a second add of a key', () => {
  it('replaces the job that waits, and deletes its copies', async () => {
    const { producer, first, primary, payloads, claim, copies, run, clock } = await waiting();
    const second = await producer.now('t', 'new', { key: 'k' });
    expect(second).toMatchObject({ id: first.id, status: 'replaced', copies: 3 });
    await clock.advance(0);
    expect(await payloads()).toEqual(['new', 'new', 'new']);
    expect(await claim(primary)).toEqual({ kind: 'gone' });
    expect((await run((await copies())[0]!)).attempt).toBe(1);
  });

  it('settles the copies that it deleted, once that is certain', async () => {
    const { producer, ledger, clock, first } = await waiting();
    await producer.delay('t', 'new', '1h', { key: 'k' });
    await clock.advance(65_000);
    expect(ledger.settled).toEqual([{ id: ID, generation: born(first), mask: 0b111, unknown: false }]);
  });

  it('with keep stores nothing, and gives the receipt of the present job', async () => {
    const { producer, ledger, first, payloads } = await waiting();
    ledger.asked.length = 0;
    const second = await producer.delay('t', 'new', '5m', { key: 'k', onDuplicate: 'keep' });
    expect(second).toMatchObject({ id: ID, key: 'k', dueAt: first.dueAt, status: 'kept', copies: 3 });
    expect(parseRef(second, '')).toEqual(parseRef(first, ''));
    expect(ledger.asked).toEqual(['open']);
    expect(await payloads()).toEqual(['old', 'old', 'old']);
    expect(await producer.revoke(second)).toBe('revoked');
    expect(await payloads()).toEqual([]);
  });

  it('with reject fails, and stores nothing', async () => {
    const { producer, ledger, first, payloads } = await waiting();
    const error = await failure(producer.delay('t', 'new', '5m', { key: 'k', onDuplicate: 'reject' }));
    expect(error).toMatchObject({ code: 'DQ_DUPLICATE', indeterminate: false });
    expect(error.message).toContain(`the key "k" of "t" is taken`);
    expect(error.message).toContain(first.dueAt.toISOString());
    expect(ledger.asked.at(-1)).toBe('open');
    expect(await payloads()).toEqual(['old', 'old', 'old']);
  });

  it('while the first runs is held back, and runs once the run is over, whatever that ends with', async () => {
    for (const outcome of ['done', 'retry', 'dead', 'back'] as const) {
      const { producer, primary, run, claim, copies, clock, memory } = await waiting();
      const { finish } = await run(primary);
      expect((await producer.now('t', 'new', { key: 'k' })).status).toBe('replaced');
      await clock.advance(10_000); // the hold counts from the lease of the claim
      const fresh = (await copies()).find(({ payload }) => payload === 'new')!;
      expect(await claim(fresh)).toMatchObject({ kind: 'busy', ms: 1_000 });
      expect(await finish(outcome)).toBe('over');
      expect(await claim(primary)).toEqual({ kind: 'gone' });
      const { attempt, finish: end } = await run(fresh);
      expect([attempt, await end('done')]).toEqual([1, 'ok']);
      expect(await memory.tube('t').letters({ limit: 10, after: undefined })).toEqual({
        letters: [],
        more: false,
      });
    }
  });

  it('while the first runs takes over when the runner is silent', async () => {
    const { producer, primary, run, copies, clock } = await waiting();
    const { finish } = await run(primary);
    await producer.now('t', 'new', { key: 'k' });
    await clock.advance(15_000);
    const fresh = (await copies()).find(({ payload }) => payload === 'new')!;
    await run(fresh);
    expect(await finish('done')).toBe('refused');
  });

  it.each(['keep', 'reject'] as const)(
    'with %s finds the key taken while the first runs',
    async (onDuplicate) => {
      const { producer, primary, run, first } = await waiting();
      await run(primary);
      const second = producer.now('t', 'new', { key: 'k', onDuplicate });
      if (onDuplicate === 'reject') expect((await failure(second)).code).toBe('DQ_DUPLICATE');
      else expect(born(await second)).toBe(born(first));
    },
  );

  it('replaces a job that waits for a retry, and resets its attempts', async () => {
    const { producer, primary, run, copies, clock, claim, payloads } = await waiting();
    const { finish } = await run(primary);
    await finish('retry', { due: clock.wall() + 5_000 });
    expect((await producer.now('t', 'new', { key: 'k' })).status).toBe('replaced');
    await clock.advance(5_000);
    expect(await payloads()).toEqual(['new', 'new', 'new']);
    expect(await claim(primary)).toEqual({ kind: 'gone' });
    expect((await run((await copies())[0]!)).attempt).toBe(1);
  });

  it.each(['done', 'dead', 'revoked'] as const)('finds the key free when the first is %s', async (end) => {
    const { producer, primary, run, copies, clock } = await waiting();
    if (end === 'revoked') await producer.revoke(KEY);
    else await (await run(primary)).finish(end);
    await clock.advance(1);
    const second = await producer.now('t', 'new', { key: 'k', onDuplicate: 'reject' });
    expect(second.status).toBe('added');
    const fresh = (await copies()).find(({ payload }) => payload === 'new')!;
    expect((await run(fresh)).attempt).toBe(1);
  });

  it('finds the key free when the first was revoked while it runs, and waits for that run', async () => {
    const { producer, primary, run, copies, claim, clock } = await waiting();
    const { finish } = await run(primary);
    expect(await producer.revoke(KEY)).toBe('running');
    await clock.advance(1);
    const second = await producer.now('t', 'new', { key: 'k', onDuplicate: 'reject' });
    expect(second.status).toBe('added');
    const fresh = (await copies()).find(({ payload }) => payload === 'new')!;
    expect(await claim(fresh)).toMatchObject({ kind: 'busy' });
    expect(await finish('done')).toBe('over');
    await run(fresh);
  });
});
