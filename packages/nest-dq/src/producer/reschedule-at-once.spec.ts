import { describe, expect, it } from '@jest/globals';
import { parseRef } from '../copies/job-ref.js';
import type { JobReceipt } from '../api/job.js';
import { orders, Turns } from '../../spec-support/turns.js';
import { KINDS, waiting, type Kind } from '../../spec-support/waiting-job.js';

describe('reschedules of one job at once', () => {
  it.each(KINDS)('both take effect, one after the other, in each order of their steps: %s', async (kind) => {
    for (const order of orders(3, 3)) {
      const { process, ref, clock, copies, schedule, run } = await waiting(kind);
      const turns = new Turns();
      const results = await turns.play(
        order,
        [2_000, 4_000].map((delay, actor) => {
          const { producer, ledger } = process();
          ledger.gate = () => turns.gate(actor);
          return () => producer.reschedule(ref, { delay }, { payload: delay });
        }),
      );
      await clock.advance(0);
      const now = clock.wall();
      const left = await copies();
      const { state, generation, due } = (await schedule())!;
      expect({ kind, order, results, state }).toEqual({
        kind,
        order,
        results: ['rescheduled', 'rescheduled'],
        state: 'waiting',
      });
      expect(left.map(({ header, payload }) => [header.generation, header.due - now, payload])).toEqual(
        Array(3).fill([generation, due - now, String(due - now)]),
      );
      await clock.advance(4_000);
      expect((await run(left[0]!)).attempt).toBe(1);
    }
  });
});

describe('reschedule while someone else acts', () => {
  it.each(KINDS)('and has moved it before a copy was read: it moves that: %s', async (kind) => {
    const { producer, process, ledger, ref, clock, schedule, payloads } = await waiting(kind);
    const other = process().producer;
    ledger.acted = async () => {
      ledger.acted = () => undefined;
      await other.reschedule(ref, { delay: '1m' }, { payload: 'theirs' });
      await clock.advance(0);
    };
    expect(await producer.reschedule(ref, { delay: '5m' })).toBe('rescheduled');
    await clock.advance(0);
    expect((await schedule())!.due).toBe(clock.wall() + 300_000);
    expect(await payloads()).toEqual(['theirs', 'theirs', 'theirs']);
  });

  it.each(KINDS)(
    'and has run what was moved, and added the key: it was moved all the same: %s',
    async (kind) => {
      const { producer, process, ledger, ref, clock, run, copies, after, schedule } = await waiting(kind);
      ledger.gate = async (call) => {
        if (call !== 'commit') return;
        await new Promise<void>((resolve) => clock.after(10_000, resolve));
        const moved = (await copies()).find(({ payload }) => payload === 'moved')!;
        await (await run(moved)).finish('done');
        if (kind === 'keyed') await process().producer.delay('t', 'new', '1m', { key: 'k' });
      };
      const moving = producer.reschedule(ref, { delay: '1s' }, { payload: 'moved' });
      expect(await after(10_000, moving)).toBe('rescheduled');
      await clock.advance(10_000);
      expect(await schedule()).toMatchObject({ state: kind === 'keyed' ? 'waiting' : 'done' });
    },
  );

  it.each(KINDS)('and has revoked it before a copy was read: it stays revoked: %s', async (kind) => {
    const { producer, process, ledger, ref, copies } = await waiting(kind);
    const other = process().producer;
    ledger.acted = async () => {
      ledger.acted = () => undefined;
      await other.revoke(ref);
    };
    expect(await producer.reschedule(ref, { delay: '5m' })).toBe('revoked');
    expect(await copies()).toEqual([]);
  });

  async function race(kind: Kind, order: readonly number[], act: 'revoke' | 'add' | 'run') {
    const world = await waiting(kind);
    if (act === 'run') await world.clock.advance(10_000);
    const turns = new Turns();
    const [moves, other] = [world.process(), world.process()];
    moves.ledger.gate = () => turns.gate(0);
    other.ledger.gate = () => turns.gate(1);
    const acts = {
      revoke: () => other.producer.revoke(world.ref),
      add: () => other.producer.delay('t', 'new', '1m', { key: 'k' }),
      run: async () => {
        await turns.gate(1);
        return (await world.claim(world.old[0]!)).kind;
      },
    };
    const [moved, acted] = await turns.play<unknown>(order, [
      () => moves.producer.reschedule(world.ref, { delay: '5m' }, { payload: 'moved' }),
      acts[act],
    ]);
    await world.clock.advance(0);
    return Object.assign(world, { moved, acted, left: await world.copies(), now: await world.schedule() });
  }

  it.each(KINDS)('and revokes: the job never starts, and no copy is left: %s', async (kind) => {
    for (const order of orders(3, 1)) {
      const { moved, acted, left, now } = await race(kind, order, 'revoke');
      expect({ order, acted, left: left.length, state: now!.state }).toEqual({
        order,
        acted: 'revoked',
        left: 0,
        state: 'revoked',
      });
      expect(['rescheduled', 'revoked']).toContain(moved);
    }
  });

  it('and adds the key again: there is one job, and no mixture', async () => {
    for (const order of orders(3, 2)) {
      const { moved, left, now, acted } = await race('keyed', order, 'add');
      const { payload } = left[0]!;
      expect(left.map((copy) => [copy.header.generation, copy.payload])).toEqual(
        Array(3).fill([now!.generation, payload]),
      );
      expect({ order, moved, acted }).toMatchObject({ moved: 'rescheduled', acted: { status: 'replaced' } });
      // Whoever committed last: an add replaces what was moved, and what was added is moved.
      expect(now!.born).toBe(parseRef(acted as JobReceipt, '').born);
      expect(['new', 'moved']).toContain(payload);
    }
  });

  it.each(KINDS)('and runs it: it is moved, or it runs, never both: %s', async (kind) => {
    for (const order of orders(3, 1)) {
      const { moved, acted, left, claim } = await race(kind, order, 'run');
      const outcome = `${String(moved)}, ${String(acted)}`;
      expect(['rescheduled, gone', 'running, run']).toContain(outcome);
      expect(left.map(({ payload }) => payload)).toEqual(
        Array(3).fill(moved === 'rescheduled' ? 'moved' : 'old'),
      );
      const kinds = await Promise.all(left.map(async (copy) => (await claim(copy)).kind));
      expect(kinds).not.toContain('gone');
    }
  });
});
