// How the index of the jobs that wait is read: page by page, and counted.
import { describe, expect, it } from '@jest/globals';
import { LedgerIndex } from 'nest-dq/src/ledger/ledger-index.js';
import type { WaitingPage } from 'nest-dq/src/ledger/waiting/waiting-jobs.js';
import { stored } from 'nest-dq/spec-support/stored.js';
import { everyLedger, MINUTE, placesOf, THREE } from './ledger-jobs.js';

everyLedger((jobs) => {
  const { add, complete, nowMs, run } = jobs;
  const fill = async (entries: readonly (readonly [id: string, due: number])[]) => {
    await jobs.tube.ask(
      'index',
      entries.map(([id, due]) => ({ id, due, places: placesOf(id) })),
    );
  };
  const page = async (over: Partial<WaitingPage> = {}) => {
    const [list] = await jobs.tube.ask('waiting', [{ limit: 100, ...over }]);
    return { ids: list!.ids.map(({ id }) => id), more: list!.more };
  };
  const index = () => new LedgerIndex({ tube: () => jobs.tube });
  const tube = stored('any');

  describe('a page', () => {
    it('has the jobs by their times, and those of one millisecond by their ids, as bytes', async () => {
      const due = nowMs() + MINUTE;
      await fill([
        ['late', due + 1],
        ['b', due],
        ['_', due],
        ['a-1', due],
        ['a', due],
        ['Z', due],
        ['early', due - 1],
      ]);
      const all = ['early', 'Z', '_', 'a', 'a-1', 'b', 'late'];
      await expect(page()).resolves.toEqual({ ids: all, more: false });
      await expect(page({ limit: 3 })).resolves.toEqual({ ids: all.slice(0, 3), more: true });
      await expect(page({ from: due, to: due + 1 })).resolves.toEqual({ ids: all.slice(1, 6), more: false });
      await expect(page({ from: due + 2 })).resolves.toEqual({ ids: [], more: false });
      await expect(page({ to: due - 1 })).resolves.toEqual({ ids: [], more: false });
    });

    it('continues right after a place, even if its job is gone', async () => {
      const due = nowMs() + MINUTE;
      const names = Array.from({ length: 20 }, (_, i) => String.fromCharCode(97 + i));
      await fill(names.map((id) => [id, due]));
      await fill([['next', due + 1]]);
      await expect(page({ after: { due, id: 'c' }, limit: 2 })).resolves.toEqual({
        ids: ['d', 'e'],
        more: true,
      });
      await jobs.revoke({ id: 'd', due });
      await expect(page({ after: { due, id: 'd' }, limit: 1 })).resolves.toEqual({ ids: ['e'], more: true });
      await expect(page({ after: { due, id: 'zzz' } })).resolves.toEqual({ ids: ['next'], more: false });
      await expect(page({ after: { due: due - 1, id: 'zzz' }, limit: 1 })).resolves.toMatchObject({
        ids: ['a'],
      });
      await expect(page({ after: { due, id: 's' }, from: due + 1 })).resolves.toMatchObject({
        ids: ['next'],
      });
    });
  });

  it('counts what is listed and what is due, and says when the first is', async () => {
    await expect(jobs.tube.ask('tally', [{ times: [nowMs()] }])).resolves.toEqual([
      { listed: 0, overdue: 0, retrying: 0, before: [0] },
    ]);
    const first = nowMs() - 1_000;
    const later = first + MINUTE;
    await fill([
      ['a', first],
      ['b', later],
      ['c', later],
    ]);
    const times = [first, first + 1, later, later + 1];
    await expect(jobs.tube.ask('tally', [{ times }])).resolves.toEqual([
      { listed: 3, overdue: 1, retrying: 0, firstDue: first, before: [0, 1, 1, 3] },
    ]);
  });

  describe('how many wait for a retry', () => {
    const counts = async () => {
      const { listed, retrying } = await index().counts(tube);
      return { listed, retrying };
    };
    const tried = async (id: string) => {
      const ref = await run({ id });
      await complete(ref, { kind: 'retry', due: nowMs() - 1 }, THREE);
      return ref;
    };

    it('counts those that have failed, until they run again', async () => {
      await fill([['plain', nowMs() + MINUTE]]);
      await tried('a');
      await tried('b');
      await expect(counts()).resolves.toEqual({ listed: 3, retrying: 2 });
      const again = await run({ id: 'a' });
      await expect(counts()).resolves.toEqual({ listed: 2, retrying: 1 });
      await complete(again, { kind: 'retry', due: nowMs() + MINUTE }, THREE);
      await expect(counts()).resolves.toEqual({ listed: 3, retrying: 2 });
    });

    it.each(['done', 'dead', 'revoked'])('counts none that is %s', async (end) => {
      await tried('a');
      if (end === 'revoked') await jobs.revoke({ id: 'a' });
      else if (end === 'done') await complete(await run({ id: 'a' }), { kind: 'done' });
      else await complete(await run({ id: 'a' }), { kind: 'dead', death: { why: 'discarded' }, places: [] });
      await expect(counts()).resolves.toEqual({ listed: 0, retrying: 0 });
    });

    it('counts none whose run was given back, or whose attempts were reset', async () => {
      await complete(await run({ id: 'back' }), { kind: 'back' });
      await tried('anew');
      await add({ id: 'anew', due: nowMs() + MINUTE });
      await expect(counts()).resolves.toEqual({ listed: 2, retrying: 0 });
    });

    it('counts only those that are listed', async () => {
      const none = await jobs.harness.withMostIndexed(jobs.tubeName, 1);
      await tried('listed');
      const ref = await run({ id: 'unlisted' });
      const outcome = { kind: 'retry', due: nowMs() + MINUTE } as const;
      await none.complete([{ ...ref, owed: THREE, places: [], outcome }]);
      await expect(counts()).resolves.toEqual({ listed: 1, retrying: 1 });
      await expect(index().find(tube, 'unlisted')).resolves.toMatchObject({ attempt: 1 });
      await expect(counts()).resolves.toEqual({ listed: 2, retrying: 2 });
    });
  });

  describe('whoever reads it', () => {
    it('gets what the records say of the jobs, and a place to continue from', async () => {
      const due = nowMs() + MINUTE;
      await fill([['plain', due]]);
      const generation = await add({ id: 'keyed', due: due + 1, places: placesOf('k') });
      const ref = await run({ id: 'tried' });
      await complete(ref, { kind: 'retry', due: due + 2 }, THREE);
      const of = { born: 0, generation: 0, attempt: 0 };
      const [plain, keyed, tried] = [
        { ...of, id: 'plain', due, places: placesOf('plain') },
        { ...of, id: 'keyed', due: due + 1, born: generation, generation, places: placesOf('k') },
        { ...of, id: 'tried', due: due + 2, attempt: 1, places: [] },
      ];
      await expect(index().page(tube, { limit: 2 })).resolves.toEqual({
        jobs: [plain, keyed],
        next: { id: 'keyed', due: due + 1 },
      });
      await expect(index().page(tube, { limit: 2, after: { id: 'keyed', due: due + 1 } })).resolves.toEqual({
        jobs: [tried],
      });
      await expect(index().page(tube, { limit: 2, from: due + 3 })).resolves.toEqual({ jobs: [] });
      await expect(index().find(tube, 'plain')).resolves.toEqual(plain);
      await expect(index().find(tube, 'none')).resolves.toBeUndefined();
      await expect(index().counts(tube)).resolves.toEqual({
        listed: 3,
        overdue: 0,
        retrying: 1,
        firstDue: due,
      });
      await expect(index().dueBefore(tube, [due, due + 2, due + 9])).resolves.toEqual([0, 2, 3]);
    });

    it('finds no job that runs or is over', async () => {
      await run({ id: 'runs' });
      await complete(await run({ id: 'done' }), { kind: 'done' });
      await expect(index().find(tube, 'runs')).resolves.toBeUndefined();
      await expect(index().find(tube, 'done')).resolves.toBeUndefined();
    });
  });
});
