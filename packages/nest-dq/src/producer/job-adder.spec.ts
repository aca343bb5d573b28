import { describe, expect, it } from '@jest/globals';
import { stored } from '../../spec-support/stored.js';
import { keyedId, parseRef } from '../copies/job-ref.js';
import type { JobOptions, JobReceipt } from '../api/job.js';
import type { JobRecord } from '../ledger/rules/job-record.js';
import { settle } from '../ledger/rules/owed-copies.js';
import { embedded, failure, scripted } from '../../spec-support/producing.js';
import { orders, Turns } from '../../spec-support/turns.js';

const ID = keyedId(stored('t'), 'k');
const KEY = { tube: 't', key: 'k' };
const born = (receipt: JobReceipt) => parseRef(receipt, '').born!;

/** Embedded nodes with a job of the key that is due. */
async function waiting() {
  const world = await embedded();
  const first = await world.producer.now('t', 'old', { key: 'k' });
  await world.clock.advance(1);
  const [primary] = await world.copies();
  return Object.assign(world, { first, primary: primary! });
}

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
    ['expected a `key` beside it', { onDuplicate: 'keep' }],
    ['`onDuplicate` is "drop"', { key: 'k', onDuplicate: 'drop' }],
  ])('is refused before anything is asked: %s', async (text, options) => {
    const { producer, ledger, words } = await scripted();
    const { code, message } = await failure(producer.now('t', 1, options as JobOptions));
    expect([code, message]).toEqual(['DQ_BAD_OPTION', expect.stringContaining(text)]);
    expect([ledger.asked, words()]).toEqual([[], []]);
  });

  it('takes keys of 500 characters, and what UTF-8 cannot tell apart', async () => {
    const { producer } = await embedded();
    const keys = ['x'.repeat(500), '\ud800', '\ud801', ' ', 'K', 'k'];
    const receipts = await Promise.all(keys.map((key) => producer.delay('t', key, '1m', { key })));
    expect(new Set(receipts.map(({ id }) => id)).size).toBe(keys.length);
  });

  it('whose payload is too large beside its key is refused before the ledger is asked', async () => {
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

  it('replaces a job that waits for a retry, and its attempts begin anew', async () => {
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

describe('adds of one key at once', () => {
  /** Lets several processes add, and checks what is left. */
  async function race(order: readonly number[], options: readonly JobOptions[]) {
    const world = await embedded();
    const turns = new Turns();
    const results = await turns.play(
      order,
      options.map((each, actor) => {
        const { producer, ledger } = world.process();
        ledger.gate = () => turns.gate(actor);
        return () =>
          producer.now('t', actor, { key: 'k', ...each }).catch((error: unknown) => error as Error);
      }),
    );
    await world.clock.advance(0);
    const [schedule] = await world.memory.tube('t').find([ID]);
    return Object.assign(world, { results, schedule: schedule!, left: await world.copies() });
  }

  it.each(orders(2, 2).map((order) => ({ order })))(
    'leave one job, with both orders of opening and commit: $order',
    async ({ order }) => {
      const { results, schedule, left, run } = await race(order, [{}, {}]);
      const receipts = results as JobReceipt[];
      expect(schedule.state).toBe('waiting');
      expect(left.map(({ header }) => header.generation)).toEqual(Array(3).fill(schedule.generation));
      const winner = Number(left[0]!.payload);
      expect(born(receipts[winner]!)).toBe(schedule.born);
      const statuses = receipts.map(({ status }) => status);
      // The loser either had its time, or was told whose job it is.
      if (statuses[1 - winner] === 'kept') expect(statuses[winner]).toBe('added');
      else expect([statuses[winner], statuses[1 - winner]]).toEqual(['replaced', 'added']);
      if (statuses[1 - winner] === 'kept') expect(receipts[1 - winner]!.ref).toBe(receipts[winner]!.ref);
      await run(left[0]!);
    },
  );

  it('leave one job when there are three, in each of the 90 orders', async () => {
    for (const order of orders(2, 2, 2)) {
      const { results, schedule, left } = await race(order, [{}, {}, {}]);
      const receipts = results as JobReceipt[];
      const generations = left.map(({ header }) => header.generation);
      const winner = Number(left[0]?.payload);
      const statuses = receipts.map(({ status }) => status);
      const own = receipts.filter(({ status }) => status !== 'kept').map(born);
      expect({
        order,
        generations,
        winner: born(receipts[winner]!),
        added: statuses.filter((status) => status === 'added').length,
        once: new Set(own).size,
        lies: receipts.filter(({ status }) => status === 'kept').filter((kept) => !own.includes(born(kept))),
      }).toEqual({
        order,
        generations: Array(3).fill(schedule.generation),
        winner: schedule.born,
        added: 1,
        once: own.length,
        lies: [],
      });
    }
  }, 60_000);

  it.each(orders(2, 2).map((order) => ({ order })))(
    'with keep leave the one that commits first: $order',
    async ({ order }) => {
      const keep = { onDuplicate: 'keep' } as const;
      const { results, schedule, left } = await race(order, [keep, keep]);
      const receipts = results as JobReceipt[];
      expect(receipts.map(({ status }) => status).toSorted()).toEqual(['added', 'kept']);
      expect(receipts.map(born)).toEqual([schedule.born, schedule.born]);
      expect(left.map(({ header }) => header.generation)).toEqual(Array(3).fill(schedule.generation));
    },
  );

  it.each(orders(2, 2).map((order) => ({ order })))(
    'with reject fail but for the one that commits first: $order',
    async ({ order }) => {
      const reject = { onDuplicate: 'reject' } as const;
      const { results, schedule, left } = await race(order, [reject, reject]);
      const winner = Number(left[0]!.payload);
      expect(results[winner]).toMatchObject({ status: 'added' });
      expect(results[1 - winner]).toMatchObject({ code: 'DQ_DUPLICATE', indeterminate: false });
      expect(left.map(({ header }) => header.generation)).toEqual(Array(3).fill(schedule.generation));
    },
  );
});

describe('an add of a key while somebody else acts', () => {
  it.each(orders(2, 1).map((order) => ({ order })))(
    'and revokes: nothing of what was opened before starts: $order',
    async ({ order }) => {
      const world = await waiting();
      const turns = new Turns();
      const [adds, revokes] = [world.process(), world.process()];
      adds.ledger.gate = () => turns.gate(0);
      revokes.ledger.gate = () => turns.gate(1);
      const [receipt, revoked] = await turns.play<JobReceipt | string>(order, [
        () => adds.producer.now('t', 'new', { key: 'k' }),
        () => revokes.producer.revoke(KEY),
      ]);
      await world.clock.advance(10_000);
      const left = await world.copies();
      const kinds = await Promise.all(left.map(async (copy) => (await world.claim(copy)).kind));
      expect(revoked).toBe('revoked');
      const openedAfter = order[0] === 1;
      expect(kinds[0]).toBe(openedAfter ? 'run' : undefined);
      expect(left.map(({ payload }) => payload)).toEqual(openedAfter ? ['new', 'new', 'new'] : []);
      expect((receipt as JobReceipt).status).toBe(order[1] === 0 && !openedAfter ? 'replaced' : 'added');
    },
  );

  it.each(orders(2, 2).map((order) => ({ order })))(
    'and runs the job: the two never run at once: $order',
    async ({ order }) => {
      const world = await waiting();
      const turns = new Turns();
      const adds = world.process();
      adds.ledger.gate = () => turns.gate(0);
      let ran = false;
      await turns.play<unknown>(order, [
        () => adds.producer.now('t', 'new', { key: 'k' }),
        async () => {
          await turns.gate(1);
          const answer = await world.run(world.primary).catch(() => undefined);
          ran = answer !== undefined;
          await world.clock.advance(0);
          const fresh = (await world.copies()).find(({ payload }) => payload === 'new');
          if (ran && fresh) expect((await world.claim(fresh)).kind).not.toBe('run');
          await turns.gate(1);
          await answer?.finish('retry');
        },
      ]);
      await world.clock.advance(0);
      // The old one runs only if it was claimed before it was replaced; the new one runs in any case, and only it.
      expect(ran).toBe(order.indexOf(1) < order.lastIndexOf(0));
      expect(await world.payloads()).toEqual(expect.arrayContaining(['new', 'new', 'new']));
      const kinds: string[] = [];
      for (const copy of await world.copies())
        kinds.push(`${copy.payload} ${(await world.claim(copy)).kind}`);
      expect(kinds.filter((kind) => kind.endsWith('run'))).toEqual(['new run']);
      expect(kinds).not.toContain('old run');
    },
  );
});

describe('an add of a key whose job ends in between', () => {
  it.each(['done', 'dead'] as const)('replaces nothing: %s', async (end) => {
    const { producer, ledger, primary, run, copies } = await waiting();
    ledger.gate = async (call) => {
      if (call === 'commit') await (await run(primary)).finish(end);
    };
    expect((await producer.now('t', 'new', { key: 'k' })).status).toBe('added');
    // Whoever ran the old one deletes or buries it.
    expect(await copies()).toHaveLength(6);
  });
});

describe('an add with a key that finds too few nodes', () => {
  const DRAINING = () => 'DRAINING';

  it('is taken back, and leaves the present job alone', async () => {
    const { producer, servers, ledger, memory, puts, after, claim, clock } = await scripted();
    const old = await producer.now('t', 'old', { key: 'k' });
    for (const server of servers.slice(1)) server.answers['put'] = DRAINING;
    const error = await failure(after(2_000, producer.now('t', 'new', { key: 'k' })));
    expect(error).toMatchObject({ code: 'DQ_TOO_FEW_COPIES', indeterminate: false });
    expect(error.message).toMatch(/nothing of it will run$/);
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
      expect(error.message).toMatch(/it may still run$/);
      await clock.advance(10_000);
      // And so it is.
      const { kind } = await claim(puts().at(-1)!.envelope);
      expect(kind).toBe(fault === 'unanswered' ? 'gone' : 'run');
    },
  );

  it('is sure of what the ledger says, although a put got no answer', async () => {
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
  it.each<['lost' | 'unanswered', string[]]>([
    ['lost', ['run']],
    ['unanswered', ['run']],
  ])('stores nothing when its opening is %s', async (fault, kinds) => {
    const { producer, ledger, primary, payloads, claim } = await waiting();
    ledger.fail('open', fault);
    const error = await failure(producer.now('t', 'new', { key: 'k' }));
    expect(error).toMatchObject({ code: 'DQ_LEDGER_DOWN', indeterminate: false });
    expect(error.message).toContain('nothing was stored');
    expect(await payloads()).toEqual(['old', 'old', 'old']);
    expect([(await claim(primary)).kind]).toEqual(kinds);
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
    'is committed once, and tells what it replaced, when its commit is %s first',
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
