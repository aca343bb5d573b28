import { describe, expect, it } from '@jest/globals';
import type { JobReceipt } from '../api/job.js';
import { embedded, failure, scripted } from '../../spec-support/producing.js';
import { stored } from '../../spec-support/stored.js';
import { ID, KEY, born, waiting } from '../../spec-support/keyed-job.js';

describe('an add with a key that finds too few nodes', () => {
  const DRAINING = () => 'DRAINING';

  it('is taken back, and leaves the present job alone', async () => {
    const { producer, servers, ledger, memory, puts, after, claim, clock } = await scripted();
    const old = await producer.now('t', 'old', { key: 'k' });
    for (const server of servers.slice(1)) server.answers['put'] = DRAINING;
    const error = await failure(after(2_000, producer.now('t', 'new', { key: 'k' })));
    expect(error).toMatchObject({ code: 'DQ_TOO_FEW_COPIES', indeterminate: false });
    expect(error.message).toMatch(/the job will not run$/);
    expect(Object.keys(error.nodes!)).toEqual(expect.arrayContaining(['n1:1', 'n2:1']));
    expect(ledger.asked.slice(-2)).toEqual(['open', 'abort']);
    expect((await memory.tube('t').find([ID]))[0]).toMatchObject({ state: 'waiting', born: born(old) });
    await clock.advance(20_000);
    const stored = puts().find(({ envelope }) => envelope.content.bytes.toString() === 'new');
    if (stored) expect(await claim(stored.envelope)).toEqual({ kind: 'gone' });
  });

  it('deletes what it stored', async () => {
    const { producer, servers, after } = await scripted();
    for (const server of servers.slice(0, 2)) server.answers['put'] = DRAINING;
    const error = await failure(after(2_000, producer.delay('t', 'new', '1m', { key: 'k' })));
    expect(error).toMatchObject({ code: 'DQ_TOO_FEW_COPIES', indeterminate: false });
    expect(servers[2]!.words).toEqual(['put', 'delete']);
  });

  it.each(['lost', 'unanswered'] as const)(
    'knows that it is taken back without an answer of the ledger, if each copy was deleted: abort %s',
    async (fault) => {
      const { producer, ledger, servers, after } = await scripted();
      ledger.fail('abort', fault);
      for (const server of servers.slice(0, 2)) server.answers['put'] = DRAINING;
      const error = await failure(after(2_000, producer.delay('t', 'new', '1m', { key: 'k' })));
      expect(error).toMatchObject({ code: 'DQ_TOO_FEW_COPIES', indeterminate: false });
    },
  );

  it.each(['lost', 'unanswered', 'closed'] as const)(
    'may run when neither nodes nor ledger say otherwise: abort %s',
    async (fault) => {
      const { producer, ledger, servers, after, puts, claim, clock } = await scripted();
      ledger.fail('abort', fault);
      for (const server of servers.slice(1)) server.answers['put'] = () => undefined;
      const error = await failure(after(2_000, producer.now('t', 'new', { key: 'k' })));
      expect(error).toMatchObject({ code: 'DQ_TOO_FEW_COPIES', indeterminate: true });
      expect(error.message).toMatch(/the job may still run$/);
      await clock.advance(10_000);
      // And so it is.
      const { kind } = await claim(puts().at(-1)!.envelope);
      expect(kind).toBe(fault === 'unanswered' ? 'gone' : 'run');
    },
  );

  it('trusts the ledger, although a put got no answer', async () => {
    const { producer, servers, after, puts, claim, clock } = await scripted();
    for (const server of servers.slice(1)) server.answers['put'] = () => undefined;
    const error = await failure(after(2_000, producer.now('t', 'new', { key: 'k' })));
    expect(error).toMatchObject({ code: 'DQ_TOO_FEW_COPIES', indeterminate: false });
    await clock.advance(10_000);
    expect(await claim(puts().at(-1)!.envelope)).toEqual({ kind: 'gone' });
  });

  it('may run, and deletes nothing, when a claim was faster than the abort', async () => {
    const { producer, servers, clock, puts, run, ledger, words } = await scripted();
    for (const i of [0, 2]) servers[i]!.answers['put'] = () => undefined;
    ledger.gate = async (call) => {
      if (call !== 'abort') return;
      await new Promise<void>((resolve) => clock.after(10_000, resolve));
      await run(puts().at(-1)!.envelope);
    };
    const added = failure(producer.now('t', 'new', { key: 'k' }));
    await clock.advance(12_000);
    expect(await added).toMatchObject({ code: 'DQ_TOO_FEW_COPIES', indeterminate: true });
    expect(words()).not.toContain('delete');
  });
});

describe('an add with a key while the ledger fails', () => {
  it.each(['lost', 'unanswered'] as const)('stores nothing when its opening is %s', async (fault) => {
    const { producer, ledger, primary, payloads, claim } = await waiting();
    ledger.fail('open', fault);
    const error = await failure(producer.now('t', 'new', { key: 'k' }));
    expect(error).toMatchObject({ code: 'DQ_LEDGER_DOWN', indeterminate: false });
    expect(error.message).toContain('nothing was stored');
    expect(await payloads()).toEqual(['old', 'old', 'old']);
    expect((await claim(primary)).kind).toBe('run');
    expect((await producer.now('t', 'new', { key: 'k' })).status).toBe('replaced');
  });

  it('is closed, and stores nothing, when the ledger was closed before', async () => {
    const { producer, ledger, payloads } = await waiting();
    ledger.fail('open', 'closed');
    expect(await failure(producer.now('t', 'new', { key: 'k' }))).toMatchObject({
      code: 'DQ_CLOSED',
      indeterminate: false,
    });
    expect(await payloads()).toEqual(['old', 'old', 'old']);
  });

  it.each([['lost'], ['unanswered'], ['lost', 'unanswered'], ['unanswered', 'lost']] as const)(
    'is committed once, and reports what it replaced, when its commit is %s first',
    async (...faults) => {
      const { producer, ledger, memory, after, payloads, claim, primary } = await waiting();
      ledger.fail('commit', ...faults);
      ledger.asked.length = 0;
      const second = await after(2_000, producer.now('t', 'new', { key: 'k' }));
      expect(second.status).toBe('replaced');
      expect(ledger.asked).toEqual(['open', ...faults.map(() => 'commit'), 'commit']);
      expect((await memory.tube('t').find([ID]))[0]).toMatchObject({ state: 'waiting', born: born(second) });
      expect(await payloads()).toEqual(['new', 'new', 'new']);
      expect(await claim(primary)).toEqual({ kind: 'gone' });
    },
  );

  it('is an add, not a replacement, when its commit got no answer and nothing was there', async () => {
    const { producer, ledger, after, payloads } = await embedded();
    ledger.fail('commit', 'unanswered');
    expect((await after(2_000, producer.delay('t', 'new', '1m', { key: 'k' }))).status).toBe('added');
    expect(await payloads()).toEqual(['new', 'new', 'new']);
  });

  it('asks for the commit again only after a while, so that a connection can come back', async () => {
    const { producer, ledger, clock } = await embedded();
    ledger.gate = (call) => void (ledger.down = call === 'commit' && ledger.asked.length < 3);
    const added = producer.delay('t', 'new', '1m', { key: 'k' });
    await clock.advance(499);
    expect(ledger.asked).toEqual(['open', 'commit']);
    await clock.advance(1);
    expect((await added).status).toBe('added');
    expect(ledger.asked).toEqual(['open', 'commit', 'commit']);
  });

  it('deletes nothing when its commit got no answer three times, and a claim decides', async () => {
    const { producer, ledger, after, payloads, claim, copies, primary, clock } = await waiting();
    ledger.fail('commit', 'lost', 'lost', 'lost');
    const error = await failure(after(2_000, producer.now('t', 'new', { key: 'k' })));
    expect(error).toMatchObject({ code: 'DQ_LEDGER_DOWN', indeterminate: true });
    expect(ledger.asked.filter((call) => call === 'commit')).toHaveLength(4); // one is the first job's
    expect((await payloads()).toSorted()).toEqual(['new', 'new', 'new', 'old', 'old', 'old']);
    const fresh = (await copies()).find(({ payload }) => payload === 'new')!;
    expect((await claim(fresh)).kind).toBe('wait');
    await clock.advance(10_000);
    expect((await claim(fresh)).kind).toBe('run');
    expect(await claim(primary)).toEqual({ kind: 'gone' });
  });

  /** A world whose Redis loses its data `after` ms after an add has stored its copies, before its commit. */
  const losing = async (after: number) => {
    const world = await embedded();
    const { ledger, memory, clock } = world;
    const lose = () => {
      ledger.gate = async (call) => {
        if (call !== 'commit') return;
        await new Promise<void>((resolve) => clock.after(after, resolve));
        memory.records.of(stored('t')).byId.clear();
      };
    };
    return Object.assign(world, { lose });
  };

  it.each([
    ['the job that it replaces may have begun', '2s', '1h', 5_000],
    ['its own run may have begun', undefined, '10ms', 10_000],
  ] as const)(
    'is reported as indeterminate where Redis lost its opening, and %s',
    async (_what, oldDue, due, lostAfter) => {
      const { producer, lose, after, payloads } = await losing(lostAfter);
      if (oldDue) await producer.delay('t', 'old', oldDue, { key: 'k' });
      lose();
      const error = await failure(after(lostAfter, producer.delay('t', 'new', due, { key: 'k' })));
      expect(error).toMatchObject({ code: 'DQ_LEDGER_DOWN', indeterminate: true });
      expect(error.message).toMatch(/Redis lost its data during this call: the job may have run/);
      expect(await payloads()).toEqual(oldDue ? ['old', 'old', 'old'] : []);
    },
  );

  it('is added although Redis lost its opening, as long as no run can have begun', async () => {
    const { producer, lose, after, memory } = await losing(5_000);
    await producer.delay('t', 'old', '10s', { key: 'k' });
    lose();
    const added = await after(5_000, producer.delay('t', 'new', '1h', { key: 'k' }));
    expect(added.status).toBe('added');
    expect((await memory.tube('t').find([ID]))[0]).toMatchObject({ state: 'waiting', born: born(added) });
  });

  it('may run all the same when the ledger was closed before its commit', async () => {
    const { producer, ledger, after, payloads } = await embedded();
    ledger.fail('commit', 'lost', 'closed');
    const error = await failure(after(2_000, producer.delay('t', 'new', '1m', { key: 'k' })));
    expect(error).toMatchObject({ code: 'DQ_CLOSED', indeterminate: true });
    expect(await payloads()).toEqual(['new', 'new', 'new']);
  });

  it('is committed when a claim was faster', async () => {
    const { producer, ledger, clock, run, copies, payloads } = await embedded();
    ledger.gate = async (call) => {
      if (call === 'commit') await new Promise<void>((resolve) => clock.after(10_000, resolve));
    };
    const added = producer.now('t', 'new', { key: 'k' });
    await clock.advance(9_999);
    const [primary] = await copies();
    await clock.advance(1);
    expect((await added).status).toBe('added');
    expect((await run(primary!)).attempt).toBe(1);
    expect(await payloads()).toHaveLength(3);
  });

  it.each([
    ['replace', 'added'],
    ['replace', 'replaced'],
    ['keep', 'DQ_DUPLICATE'],
    ['reject', 'DQ_DUPLICATE'],
  ] as const)(
    'does not say that another job was kept when its own ran, adopted by a claim: %s, %s',
    async (onDuplicate, expected) => {
      const { producer, process, ledger, clock, run, copies, after } = await embedded();
      if (expected === 'replaced') await producer.delay('t', 'old', '1h', { key: 'k' });
      ledger.gate = async (call) => {
        if (call !== 'commit') return;
        await new Promise<void>((resolve) => clock.after(10_001, resolve));
        const own = (await copies()).find(({ payload }) => payload === 'own')!;
        await (await run(own)).finish('done');
        await process().producer.now('t', 'other', { key: 'k' });
      };
      const added = producer.now('t', 'own', { key: 'k', onDuplicate });
      const result = await after(10_001, added).catch((error: unknown) => error);
      if (expected === 'DQ_DUPLICATE') {
        expect(result).toMatchObject({ code: expected, indeterminate: true });
      } else {
        expect(result).toMatchObject({ status: expected });
        expect(await producer.revoke(result as JobReceipt)).toBe('unknown');
        expect(await producer.revoke(KEY)).toBe('revoked');
      }
    },
  );

  it('is the job that was added when its run came again before the commit, whatever it was to replace', async () => {
    const { producer, ledger, memory, clock, claim, copies, after } = await embedded();
    ledger.gate = async (call) => {
      if (call !== 'commit') return;
      await new Promise<void>((resolve) => clock.after(10_000, resolve));
      const { header } = (await copies())[0]!;
      const answer = await claim({ header });
      if (answer.kind !== 'run') throw new Error(answer.kind);
      const { id, generation, born } = header;
      const run = { id, generation, born, ...answer, lastOk: clock.wall() };
      const again = { due: clock.wall() + 60_000, announced: 0b111 };
      const owed = { mask: 0b111, unknown: false };
      const [opened] = await memory.tube('t').open([{ id, opening: { by: 'again', run }, ...again }]);
      if (opened?.kind !== 'opened') throw new Error(opened?.kind);
      const outcome = { kind: 'again', generation: opened.generation, places: [], owed, ...again } as const;
      await memory.tube('t').complete([{ ...run, owed, outcome }]);
    };
    const added = producer.now('t', 'own', { key: 'k', onDuplicate: 'reject' });
    expect((await after(10_000, added)).status).toBe('added');
    expect(await producer.find(KEY)).toMatchObject({ state: 'waiting' });
  });

  it('has its own receipt when its commit got no answer, and another add came before it was asked again', async () => {
    const { producer, process, ledger, after, payloads } = await embedded();
    const other = process().producer;
    ledger.fail('commit', 'unanswered');
    ledger.acted = async (call) => {
      ledger.acted = () => undefined;
      if (call === 'open') ledger.acted = async () => void (await other.now('t', 'other', { key: 'k' }));
    };
    const added = await after(2_000, producer.now('t', 'own', { key: 'k' }));
    expect(added.status).toBe('added');
    expect(await payloads()).toEqual(['other', 'other', 'other']);
  });

  it('never runs when it was revoked between its opening and its commit', async () => {
    const { producer, process, ledger, clock, copies, claim, memory } = await waiting();
    let stored: Awaited<ReturnType<typeof copies>> = [];
    ledger.gate = async (call) => {
      if (call !== 'commit') return;
      stored = await copies();
      expect(await process().producer.revoke(KEY)).toBe('revoked');
    };
    // It was scheduled, and then it was revoked: that is no error.
    expect((await producer.now('t', 'new', { key: 'k' })).status).toBe('added');
    await clock.advance(10_000);
    expect(stored).toHaveLength(6);
    for (const copy of stored) expect(await claim(copy)).toEqual({ kind: 'gone' });
    expect(await copies()).toEqual([]);
    expect((await memory.tube('t').find([ID]))[0]).toMatchObject({ state: 'revoked' });
  });
});
