// Keys: what an opened generation of a job does, until it is aborted, and what is found of it.
import { describe, expect, it } from '@jest/globals';
import { SETTINGS } from './ledger-harness.js';
import { adding, everyLedger, expectAbout, KEPT, MINUTE, NONE, OLD, placesOf } from './ledger-jobs.js';

everyLedger((jobs) => {
  const { abort, add, claim, commit, copy, done, find, complete, forgottenIn } = jobs;
  const { nowMs, open, opened, pass, revokeKey, run, settle } = jobs;

  describe('open', () => {
    it('gives the next generation, which is its time, and decides nothing', async () => {
      const answer = await open();
      expect(answer).toEqual({ kind: 'opened', generation: expect.any(Number) });
      if (answer.kind === 'opened') expectAbout(answer.generation, nowMs());
      await expect(find()).resolves.toBeUndefined();
    });

    it('answers many jobs in their order, and nothing to nothing', async () => {
      const opening = adding();
      const ask = (id: string) => ({ id, opening, due: nowMs(), announced: 0 });
      await jobs.add({ id: '2' });
      const keeping = { ...ask('2'), opening: adding('keep') };
      const answers = await jobs.tube.open([ask('1'), keeping, ask('3')]);
      expect(answers.map(({ kind }) => kind)).toEqual(['opened', 'refused', 'opened']);
      await expect(jobs.tube.open([])).resolves.toEqual([]);
      await expect(jobs.tube.commit([])).resolves.toEqual([]);
      await expect(jobs.tube.abort([])).resolves.toEqual([]);
      await expect(jobs.tube.find([])).resolves.toEqual([]);
    });

    it('gives a greater generation each time, within the same millisecond too', async () => {
      const ask = { id: 'job', opening: adding(), due: nowMs(), announced: 0 };
      const answers = await jobs.tube.open([ask, ask, ask]);
      const generations = answers.map((answer) => (answer.kind === 'opened' ? answer.generation : 0));
      expect(generations[1]).toBeGreaterThan(generations[0]!);
      expect(generations[2]).toBeGreaterThan(generations[1]!);
    });

    it('gives a greater one although the clock went back', async () => {
      await opened();
      const ahead = nowMs() + MINUTE;
      await jobs.harness.overwrite(jobs.tubeName, 'job', { opened: ahead });
      await expect(opened()).resolves.toBe(ahead + 1);
      await revokeKey();
      await expect(opened()).resolves.toBe(ahead + 2);
      await commit(ahead + 9);
      await expect(opened()).resolves.toBe(ahead + 10);
    });

    it('gives one above what a revoke has voided although the clock went back', async () => {
      await opened();
      await revokeKey();
      const floor = nowMs() + MINUTE;
      await jobs.harness.overwrite(jobs.tubeName, 'job', { floor });
      await expect(commit(await opened())).resolves.toEqual({ kind: 'committed' });
      await expect(find()).resolves.toMatchObject({ state: 'waiting', generation: floor + 1 });
    });

    it('gives a greater one after everything was wiped', async () => {
      const before = await opened();
      await pass(1);
      await jobs.harness.wipe();
      expect(await opened()).toBeGreaterThan(before);
    });

    it('returns what waits or runs and would be replaced, and nothing of what is over', async () => {
      const due = nowMs() - 2_000;
      const generation = await add({ due, places: placesOf('n') });
      const present = { born: generation, generation, due, attempt: 0, places: placesOf('n') };
      await expect(open()).resolves.toMatchObject({ present: { ...present, state: 'waiting' } });
      const ref = await run({ generation });
      await expect(open()).resolves.toMatchObject({ present: { ...present, state: 'running', attempt: 1 } });
      await done(ref);
      const answer = await open();
      expect(answer).toMatchObject({ kind: 'opened' });
      expect(answer.kind === 'opened' && answer.present).toBeUndefined();
    });

    it.each(['keep', 'reject'] as const)(
      'is refused by %s while the job waits or runs',
      async (onDuplicate) => {
        const opening = adding(onDuplicate);
        const generation = await add();
        await expect(open({ opening })).resolves.toMatchObject({
          kind: 'refused',
          why: 'taken',
          present: { state: 'waiting', generation },
        });
        const ref = await run({ generation });
        await expect(open({ opening })).resolves.toMatchObject({
          kind: 'refused',
          present: { state: 'running' },
        });
        await complete(ref, { kind: 'retry', due: nowMs() + MINUTE });
        await expect(open({ opening })).resolves.toMatchObject({ kind: 'refused', why: 'taken' });
      },
    );

    it.each(['keep', 'reject'] as const)('is not refused by %s once the key is free', async (onDuplicate) => {
      const opening = adding(onDuplicate);
      const isFree = async (id: string) =>
        expect(await open({ id, opening })).toMatchObject({ kind: 'opened' });
      await isFree('new');
      await isFree('new'); // opened is not committed
      await done(await run({ id: 'done', generation: await add({ id: 'done' }) }));
      await isFree('done');
      await add({ id: 'revoked' });
      await revokeKey({ id: 'revoked' });
      await isFree('revoked');
      const last = await run({ id: 'last', generation: await add({ id: 'last' }) });
      await revokeKey({ id: 'last' });
      await isFree('last');
      await complete(last, { kind: 'dead', death: { why: 'discarded' }, places: [] });
      await isFree('last');
    });

    it('is refused by `after` once a job was born after it, in whatever state, and not by an older one', async () => {
      const after = await add();
      const opening = { ...adding(), after };
      const taken = { kind: 'refused', why: 'taken' };
      await expect(open({ opening })).resolves.toMatchObject({ kind: 'opened' });
      const first = { ...adding(), after: 0 };
      await expect(open({ opening: first })).resolves.toMatchObject({ ...taken, present: { born: after } });
      await expect(open({ id: 'new', opening: first })).resolves.toMatchObject({ kind: 'opened' });
      await expect(open({ id: 'new', opening: first })).resolves.toMatchObject({ kind: 'opened' });
      await pass(1);
      const ref = await run({ generation: await add() });
      await expect(open({ opening })).resolves.toMatchObject({ ...taken, present: { state: 'running' } });
      await done(ref);
      await expect(open({ opening })).resolves.toMatchObject({ ...taken, present: { state: 'done' } });
      await revokeKey();
      await expect(open({ opening })).resolves.toMatchObject(taken);
    });

    it('lets only one of two adds with the same `after` commit, even while the job of the first runs', async () => {
      const opening = { ...adding(), after: 0 };
      const [one, other] = [await opened({ opening }), await opened({ opening })];
      await expect(commit(one, { opening })).resolves.toEqual({ kind: 'committed' });
      await run({ generation: one });
      await expect(commit(other, { opening })).resolves.toMatchObject({ kind: 'refused' });
      await expect(open({ opening })).resolves.toMatchObject({ kind: 'refused', why: 'taken' });
      await expect(find()).resolves.toMatchObject({ state: 'running', generation: one });
    });

    it('keeps a record for as long as its copies may come due', async () => {
      await opened({ due: nowMs() + MINUTE });
      expectAbout(await forgottenIn(), MINUTE + KEPT);
    });
  });

  describe('abort', () => {
    it('lets an opened generation never run, and its key be as before', async () => {
      const first = await add();
      const second = await opened();
      await expect(abort(second)).resolves.toBe('aborted');
      await expect(abort(second)).resolves.toBe('aborted');
      await expect(claim({ generation: second })).resolves.toEqual({ kind: 'gone' });
      await expect(commit(second)).resolves.toMatchObject({ kind: 'refused', why: 'changed' });
      await expect(claim({ generation: first })).resolves.toMatchObject({ kind: 'run' });
    });

    it('keeps several apart, and the ones that were not aborted', async () => {
      const [one, two, three] = [await opened(), await opened(), await opened()];
      await abort(three);
      await abort(one);
      const kinds = async () =>
        Promise.all([one, two, three].map(async (generation) => (await claim({ generation })).kind));
      await expect(kinds()).resolves.toEqual(['gone', 'wait', 'gone']);
      await commit(two);
      await expect(kinds()).resolves.toEqual(['gone', 'run', 'gone']);
    });

    it('remembers it without any record', async () => {
      const generation = nowMs() - OLD;
      await expect(abort(generation)).resolves.toBe('aborted');
      await expect(claim({ generation })).resolves.toEqual({ kind: 'gone' });
      await expect(claim({ generation: generation + 1 })).resolves.toMatchObject({ kind: 'run' });
    });

    it('comes too late once it is committed, by a claim too', async () => {
      const generation = await add();
      await expect(abort(generation)).resolves.toBe('started');
      await jobs.harness.wipe();
      const adopted = nowMs() - OLD;
      const ref = await run({ generation: adopted });
      await expect(abort(adopted)).resolves.toBe('started');
      await expect(done(ref)).resolves.toBe('ok');
      await expect(abort(adopted)).resolves.toBe('started');
    });

    it('comes too late once a newer one is committed before which a claim may have been faster', async () => {
      const generation = nowMs() - OLD;
      await done(await run({ generation }));
      const [young] = [await opened(), await add()];
      await expect(abort(generation)).resolves.toBe('started');
      await expect(abort(young)).resolves.toBe('aborted');
    });

    it('still owes copies that may be stored, and nothing else', async () => {
      const generation = await opened({ due: nowMs() + MINUTE });
      await abort(generation, { owed: { mask: 0b001, unknown: false } });
      expectAbout(await forgottenIn(), MINUTE + KEPT);
      await settle(0b001, { generation });
      expectAbout(await forgottenIn(), SETTINGS.doneTtl);
      await abort(await opened(), { owed: NONE });
      expectAbout(await forgottenIn(), SETTINGS.doneTtl);
    });
  });

  describe('find', () => {
    it('returns what a job is', async () => {
      await expect(find()).resolves.toBeUndefined();
      const due = nowMs() - 2_000;
      const places = placesOf('n');
      const generation = await add({ due, places });
      const common = { born: generation, generation, places };
      await expect(find()).resolves.toEqual({ ...common, state: 'waiting', due, attempt: 0 });
      const ref = await run({ generation });
      await expect(find()).resolves.toEqual({ ...common, state: 'running', due, attempt: 1 });
      const later = nowMs() + MINUTE;
      await complete(ref, { kind: 'retry', due: later });
      await expect(find()).resolves.toEqual({ ...common, state: 'waiting', due: later, attempt: 1 });
      await revokeKey();
      await expect(find()).resolves.toEqual({
        ...common,
        state: 'revoked',
        due: later,
        attempt: 1,
      });
    });

    it('answers many in their order', async () => {
      await done(await run({ id: '1' }));
      await complete(await run({ id: '3' }), { kind: 'dead', death: { why: 'discarded' }, places: [] });
      const found = await jobs.tube.find(['1', '2', '3']);
      expect(found.map((each) => each?.state)).toEqual(['done', undefined, 'dead']);
    });

    it('takes what a lapsed run left for waiting, or revoked', async () => {
      const short = await jobs.harness.withLease(jobs.tubeName, 60);
      await short.claim([copy({ id: '1' }), copy({ id: '2' })]);
      const ask = { born: 0, due: nowMs(), owed: NONE, abort: false };
      await short.revoke([{ ...ask, id: '2' }]);
      await jobs.harness.until(short, short.now() + 70);
      const found = await jobs.tube.find(['1', '2']);
      expect(found.map((each) => each?.state)).toEqual(['waiting', 'revoked']);
    });
  });
});
