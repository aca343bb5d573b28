import { describe, expect, it } from '@jest/globals';
import type { JobOptions, JobReceipt } from '../api/job.js';
import { embedded, failure } from '../../spec-support/producing.js';
import { orders, Turns } from '../../spec-support/turns.js';
import { ID, KEY, born, waiting } from '../../spec-support/keyed-job.js';

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
      // The loser either had its time, or learnt whose job it is.
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
    'with reject all fail except the one that commits first: $order',
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

describe('an add of a key while someone else acts', () => {
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

describe('an add of a key whose job is run between its opening and its commit', () => {
  /** Something happens before the first commit. */
  async function addWhile(happens: (world: Awaited<ReturnType<typeof waiting>>) => Promise<unknown>) {
    const world = await waiting();
    const { ledger, clock, producer } = world;
    let isFirst = true;
    ledger.gate = async (call) => {
      if (call !== 'commit' || !isFirst) return;
      isFirst = false;
      await happens(world);
    };
    ledger.asked.length = 0;
    const added = await producer.delay('t', 'new', '1m', { key: 'k' });
    await clock.advance(0);
    return Object.assign(world, { added });
  }

  it.each(['done', 'dead'] as const)('is stored again, and replaces nothing: %s', async (end) => {
    const { added, ledger, payloads } = await addWhile(async ({ run, primary }) => {
      await (await run(primary)).finish(end);
    });
    expect(added.status).toBe('added');
    expect(ledger.asked).toEqual(['open', 'commit', 'open', 'commit']);
    // Whoever ran the old one deletes or buries it.
    expect(await payloads()).toEqual(['old', 'old', 'old', 'new', 'new', 'new']);
  });

  it('is stored again, and replaces the job that runs', async () => {
    const { added, memory, payloads } = await addWhile(({ run, primary }) => run(primary));
    expect(added.status).toBe('replaced');
    expect(await payloads()).toEqual(['new', 'new', 'new']);
    expect((await memory.tube('t').find([ID]))[0]).toMatchObject({ state: 'waiting', born: born(added) });
  });

  it('is stored again where the job was not there yet when it was opened', async () => {
    const { producer, process, ledger, copies, run, payloads, clock } = await embedded();
    const other = process();
    let isFirst = true;
    // Both are opened. Then the older one is committed and run.
    ledger.gate = async (call) => {
      if (call !== 'commit' || !isFirst) return;
      isFirst = false;
      hasOpened();
      await older;
      const copy = (await copies()).find(({ payload }) => payload === 'older')!;
      await (await run(copy)).finish('retry', { due: clock.wall() + 3_600_000 });
    };
    let hasOpened: () => void = () => undefined;
    const opened = new Promise<void>((resolve) => (hasOpened = resolve));
    other.ledger.gate = (call) => (call === 'commit' ? opened : undefined);
    const older = other.producer.now('t', 'older', { key: 'k' });
    const added = await producer.delay('t', 'newer', '1m', { key: 'k' });
    await clock.advance(0);
    expect([(await older).status, added.status]).toEqual(['added', 'replaced']);
    expect(await payloads()).toEqual(['newer', 'newer', 'newer']);
  });

  it('gives up when that happens again and again, and none of its copies runs', async () => {
    const { producer, ledger, primary, run, copies, clock } = await waiting();
    ledger.gate = async (call) => {
      if (call === 'commit') await (await run(primary)).finish('back');
    };
    const error = await failure(producer.delay('t', 'new', '1m', { key: 'k', patience: 0 }));
    expect(error).toMatchObject({ code: 'DQ_CONFLICT', indeterminate: false });
    await clock.advance(0);
    expect((await copies()).map(({ payload }) => payload)).toEqual(['old', 'old', 'old']);
  });
});
