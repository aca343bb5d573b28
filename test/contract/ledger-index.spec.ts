// The index of the jobs that wait: what puts a job into it, and what takes it out.
import { describe, expect, it } from '@jest/globals';
import type { CompleteRequest, IndexRequest } from 'nest-dq/src/ledger/requests.js';
import { SETTINGS } from './ledger-harness.js';
import { adding, everyLedger, MINUTE, NONE, placesOf, runOf, THREE } from './ledger-jobs.js';

everyLedger((jobs) => {
  const { abort, add, claim, commit, complete, copy, done, nowMs, opened, revoke, run } = jobs;

  const index = async (over: Partial<IndexRequest> = {}) => {
    const [answer] = await jobs.tube.ask('index', [
      { id: 'job', due: nowMs() + MINUTE, places: placesOf('n'), ...over },
    ]);
    return answer;
  };
  const listed = async () => (await jobs.tube.ask('waiting', [{ limit: 100 }]))[0]!.ids;
  const ids = async () => (await listed()).map(({ id }) => id);
  const locate = async (id = 'job') => (await jobs.tube.ask('locate', [id]))[0];

  describe('a plain job that waits', () => {
    it('is listed with its time and its places', async () => {
      const due = nowMs() + MINUTE;
      await expect(index({ due: due - 0.5 })).resolves.toBe('listed');
      await expect(listed()).resolves.toEqual([{ id: 'job', due }]);
      const schedule = { state: 'waiting', born: 0, generation: 0, due, attempt: 0, places: placesOf('n') };
      await expect(locate()).resolves.toEqual(schedule);
      await expect(jobs.find()).resolves.toBeUndefined();
    });

    it('is listed once when it is reported twice', async () => {
      await index();
      await expect(index()).resolves.toBe('listed');
      await expect(ids()).resolves.toEqual(['job']);
    });

    it('has each of its places, also of a put without an answer, and with any id of a copy', async () => {
      const places = [
        { index: 0, location: 'a:11300#i:9007199254740993' },
        { index: 1, location: '[::1]:11300#i2:?' },
        { index: 1, location: 'b:11300#i:4294967296' },
        { index: 30, location: 'a:11300#i:1' },
      ];
      await index({ places });
      await index({ id: 'none', places: [] });
      await expect(locate()).resolves.toMatchObject({ places });
      await expect(locate('none')).resolves.toMatchObject({ places: [] });
    });

    it('has its places, however often nodes were restarted', async () => {
      const many = Array.from({ length: 300 }, (_, i) => ({
        index: i % 3,
        location: `n:11300#${i}:${i + 1}`,
      }));
      for (let i = 0; i < 300; i += 30) await index({ id: `job-${i}`, places: many.slice(i, i + 30) });
      await index({ places: many.slice(297) });
      await expect(locate('job-270')).resolves.toMatchObject({ places: many.slice(270) });
      await expect(locate()).resolves.toMatchObject({ places: many.slice(297) });
    });

    it.each(['index', 'claim'])('does not wait any more once it was claimed: %s', async (first) => {
      const due = nowMs() - 1_000;
      if (first === 'index') await index({ due });
      const ref = await run({ due });
      if (first === 'claim') await expect(index({ due })).resolves.toBe('known');
      await expect(ids()).resolves.toEqual([]);
      await done(ref);
      await expect(index({ due })).resolves.toBe('known');
      await expect(ids()).resolves.toEqual([]);
    });

    it('no longer waits once it was revoked', async () => {
      await index();
      await expect(revoke()).resolves.toBe('revoked');
      await expect(ids()).resolves.toEqual([]);
      await expect(index()).resolves.toBe('known');
      await expect(ids()).resolves.toEqual([]);
    });

    it('no longer waits once a claim found it stale', async () => {
      const due = nowMs() - SETTINGS.staleAfter - 1_000;
      await claim({ due });
      await expect(index({ due })).resolves.toBe('known');
      await expect(ids()).resolves.toEqual([]);
    });

    it('is not listed when its end may be forgotten', async () => {
      await expect(index({ due: nowMs() - SETTINGS.doneTtl - 1_000 })).resolves.toBe('known');
      await expect(ids()).resolves.toEqual([]);
    });
  });

  describe('a job with a record', () => {
    const places = placesOf('k');

    it('is listed from its commit on', async () => {
      const due = nowMs() + MINUTE;
      const generation = await opened({ due });
      await expect(ids()).resolves.toEqual([]);
      await commit(generation, { due, places });
      await expect(listed()).resolves.toEqual([{ id: 'job', due }]);
      await expect(locate()).resolves.toMatchObject({ born: generation, due, places });
    });

    it('is not listed when its add was aborted', async () => {
      await abort(await opened());
      await expect(ids()).resolves.toEqual([]);
    });

    it('is listed with its new time once it was moved', async () => {
      const [due, later] = [nowMs() + MINUTE, nowMs() + 2 * MINUTE];
      await index({ due });
      const known = { generation: 0, born: 0, due, owed: THREE, places: placesOf('n') };
      const opening = { by: 'move', expected: 0 } as const;
      const generation = await opened({ opening, due: later, known });
      await expect(listed()).resolves.toEqual([{ id: 'job', due }]);
      await commit(generation, { opening, born: 0, due: later, places });
      await expect(listed()).resolves.toEqual([{ id: 'job', due: later }]);
      await expect(locate()).resolves.toMatchObject({ born: 0, generation, due: later, places });
    });

    it('stays listed when an old copy of it comes', async () => {
      await add();
      const due = nowMs() + MINUTE;
      await add({ due });
      await expect(claim({ generation: 1 })).resolves.toEqual({ kind: 'gone' });
      await expect(listed()).resolves.toEqual([{ id: 'job', due }]);
    });

    it('is listed while it waits for a retry, with the places that its run knew', async () => {
      const due = nowMs() + MINUTE;
      await index();
      const ref = await run();
      const outcome: CompleteRequest['outcome'] = { kind: 'retry', due };
      await jobs.tube.complete([{ ...ref, owed: THREE, places, outcome }]);
      await expect(listed()).resolves.toEqual([{ id: 'job', due }]);
      await expect(locate()).resolves.toMatchObject({ state: 'waiting', attempt: 1, due, places });
    });

    it('keeps the places of its generation when it waits for a retry', async () => {
      const generation = await add({ places });
      const ref = await run({ generation });
      const outcome: CompleteRequest['outcome'] = { kind: 'back' };
      await jobs.tube.complete([{ ...ref, owed: THREE, places: placesOf('other'), outcome }]);
      await expect(ids()).resolves.toEqual(['job']);
      await expect(locate()).resolves.toMatchObject({ places });
    });

    it('is listed when it comes again, and not when it was revoked meanwhile', async () => {
      const ref = await run({ id: 'job' });
      const due = nowMs() + MINUTE;
      const generation = await opened({ opening: { by: 'again', run: ref }, due });
      const next = { generation, due, announced: THREE.mask, owed: THREE, places };
      await complete(ref, { kind: 'again', ...next });
      await expect(listed()).resolves.toEqual([{ id: 'job', due }]);
      await revoke();
      await expect(ids()).resolves.toEqual([]);
    });

    it.each(['done', 'dead'] as const)('is not listed once it is %s', async (kind) => {
      const ref = await run();
      const death = { why: 'discarded' } as const;
      await complete(ref, kind === 'done' ? { kind } : { kind, death, places });
      await expect(ids()).resolves.toEqual([]);
      await expect(locate()).resolves.toMatchObject({ state: kind });
    });

    it('is listed again once it was revived', async () => {
      await complete(await run(), { kind: 'dead', death: { why: 'discarded' }, places });
      const due = nowMs() + MINUTE;
      const opening = { by: 'revive', expected: 0 } as const;
      const generation = await opened({ opening, due });
      await commit(generation, { opening, born: 0, due });
      await expect(listed()).resolves.toEqual([{ id: 'job', due }]);
    });

    it('is put right by whoever looks for it', async () => {
      const due = nowMs() + MINUTE;
      const none = await jobs.harness.withMostIndexed(jobs.tubeName, 0);
      const generation = await opened({ due });
      const one = { id: 'job', opening: adding(), generation, born: generation, due, undecidedUntil: due };
      await none.commit([{ ...one, announced: THREE.mask, owed: THREE, places }]);
      await expect(ids()).resolves.toEqual([]);
      await expect(locate()).resolves.toMatchObject({ state: 'waiting', places });
      await expect(listed()).resolves.toEqual([{ id: 'job', due }]);
    });
  });

  describe('the most that there may be', () => {
    it('is reported to whoever adds more', async () => {
      const two = await jobs.harness.withMostIndexed(jobs.tubeName, 2);
      const requests = ['a', 'b', 'c'].map((id) => ({ id, due: nowMs() + MINUTE, places: placesOf('n') }));
      await expect(two.ask('index', requests)).resolves.toEqual(['listed', 'listed', 'full']);
      await expect(ids()).resolves.toEqual(['a', 'b']);
      await expect(two.ask('locate', ['c'])).resolves.toEqual([undefined]);
    });

    it('holds for jobs with a key, and what is listed gets its new time all the same', async () => {
      await add({ id: 'a', due: nowMs() + MINUTE });
      const none = await jobs.harness.withMostIndexed(jobs.tubeName, 0);
      const due = nowMs() + 2 * MINUTE;
      const one = { announced: 7, owed: THREE, places: [], due, undecidedUntil: due };
      for (const id of ['a', 'b']) {
        const generation = await opened({ id, due });
        await none.commit([{ ...one, id, opening: adding(), generation, born: generation }]);
      }
      await expect(listed()).resolves.toEqual([{ id: 'a', due }]);
      await none.revoke([{ id: 'a', born: undefined, due: 0, owed: NONE, abort: false }]);
      await expect(ids()).resolves.toEqual([]);
    });
  });

  it('of many jobs in one call is right', async () => {
    const names = Array.from({ length: 60 }, (_, i) => `job-${i}`);
    const due = nowMs() - 1_000;
    await jobs.tube.ask(
      'index',
      names.map((id) => ({ id, due, places: placesOf('n') })),
    );
    const claims = names.slice(0, 50).map((id) => copy({ id, due }));
    const runs = (await jobs.tube.claim(claims)).map((answer, i) => runOf(claims[i]!, answer));
    await expect(ids()).resolves.toEqual(names.slice(50).sort());
    await jobs.tube.complete(
      runs.map((ref, i) => {
        const outcome = i % 2 === 0 ? ({ kind: 'done' } as const) : ({ kind: 'retry', due } as const);
        return { ...ref, owed: THREE, outcome };
      }),
    );
    const odd = names.slice(0, 50).filter((_, i) => i % 2 === 1);
    await expect(ids()).resolves.toEqual([...odd, ...names.slice(50)].sort());
  });
});
