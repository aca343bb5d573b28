// A run that ends as the same job's next: opened by whoever runs it, and committed by the completion.
import { describe, expect, it } from '@jest/globals';
import type { RunRef } from 'nest-dq/src/ledger/requests.js';
import { SETTINGS } from './ledger-harness.js';
import { everyLedger, expectAbout, KEPT, NONE, placesOf, runOf, THREE } from './ledger-jobs.js';

everyLedger((jobs) => {
  const { abort, add, claim, commit, copy, done, extend, find, complete } = jobs;
  const { forgottenIn, nowMs, open, opened, pass, revoke, run, settle } = jobs;

  const stored = (generation: number, over: { due?: number } = {}) => ({
    kind: 'again' as const,
    generation,
    due: nowMs() - 1_000,
    announced: THREE.mask,
    owed: THREE,
    places: placesOf('new'),
    ...over,
  });
  const openAgain = (ref: RunRef) => open({ opening: { by: 'again', run: ref } });
  const openedAgain = (ref: RunRef) => opened({ opening: { by: 'again', run: ref } });

  it('ends the run, and the job waits as the opened generation', async () => {
    const first = await run();
    const generation = await openedAgain(first);
    await expect(claim({ generation, born: 0, token: 'b' })).resolves.toMatchObject({ kind: 'wait' });
    const due = nowMs() - 500;
    await expect(complete(first, stored(generation, { due }))).resolves.toBe('ok');
    await expect(find()).resolves.toEqual({
      state: 'waiting',
      born: 0,
      generation,
      due,
      attempt: 0,
      places: placesOf('new'),
    });
    await expect(claim({ token: 'b' })).resolves.toEqual({ kind: 'gone' });
    const second = await run({ generation, born: 0, token: 'b' });
    expect(second).toMatchObject({ attempt: 1, due });
    expect(second.fence).toBeGreaterThan(first.fence);
  });

  it('of a keyed job keeps the options of the add', async () => {
    const born = await add();
    const ref = await run({ generation: born });
    const generation = await openedAgain(ref);
    await expect(complete(ref, stored(generation))).resolves.toBe('ok');
    await expect(find()).resolves.toMatchObject({ born, generation });
    await expect(revoke({ born })).resolves.toBe('revoked');
  });

  it('answers the same to a repeat, whoever runs the job by then', async () => {
    const first = await run();
    const generation = await openedAgain(first);
    await complete(first, stored(generation));
    await expect(complete(first, stored(generation))).resolves.toBe('ok');
    const second = await run({ generation, born: 0, token: 'b' });
    await expect(complete(first, stored(generation))).resolves.toBe('ok');
    await expect(extend(second)).resolves.toBe('ok');
    await done(second);
    await expect(complete(first, stored(generation))).resolves.toBe('ok');
    await expect(find()).resolves.toMatchObject({ state: 'done', places: [] });
  });

  it('owes the old copies and the new', async () => {
    const first = await run();
    const generation = await openedAgain(first);
    await complete(first, { ...stored(generation), owed: { mask: 0b011, unknown: false } });
    await settle(0b111);
    await complete(await run({ generation, born: 0 }), { kind: 'done' }, NONE);
    expectAbout(await forgottenIn(), KEPT);
    await settle(0b011, { generation });
    expectAbout(await forgottenIn(), SETTINGS.doneTtl);
  });

  it('remembers the old copies for as long as they are not settled', async () => {
    const first = await run();
    const generation = await openedAgain(first);
    await complete(first, stored(generation));
    await complete(await run({ generation, born: 0 }), { kind: 'done' }, NONE);
    await settle(0b111, { generation });
    expectAbout(await forgottenIn(), KEPT);
  });

  it('may be opened only by the current run', async () => {
    const ref = await run();
    await expect(openAgain({ ...ref, fence: ref.fence - 1 })).resolves.toMatchObject({ why: 'lost' });
    await done(ref);
    await expect(openAgain(ref)).resolves.toMatchObject({ kind: 'refused', why: 'lost' });
  });

  it('may not be opened after a revoke', async () => {
    const ref = await run();
    await revoke();
    await expect(openAgain(ref)).resolves.toMatchObject({ kind: 'refused', why: 'revoked' });
  });

  it('may be opened by a run whose record was lost, while the last OK is young', async () => {
    const ref = await run();
    await jobs.harness.wipe();
    const old = { ...ref, lastOk: jobs.tube.now() - SETTINGS.doneTtl - 5 };
    await expect(openAgain(old)).resolves.toEqual({ kind: 'refused', why: 'unknown' });
    const generation = await openedAgain(ref);
    await expect(claim({ token: 'b' })).resolves.toMatchObject({ kind: 'busy' });
    await jobs.harness.wipe();
    await expect(complete(ref, stored(generation))).resolves.toBe('ok');
    await expect(claim({ token: 'b' })).resolves.toEqual({ kind: 'gone' });
    await expect(claim({ generation, born: 0, token: 'b' })).resolves.toMatchObject({ kind: 'run' });
  });

  it('renews the lease as it opens', async () => {
    const ref = await run();
    await pass(50);
    await openAgain(ref);
    const answer = await claim({ token: 'b' });
    expect(answer).toMatchObject({ kind: 'busy' });
    if (answer.kind === 'busy') expect(answer.ms).toBeGreaterThan(SETTINGS.lease - 40);
  });

  it('is over if a revoke came in between', async () => {
    const ref = await run();
    const generation = await openedAgain(ref);
    await revoke();
    await expect(complete(ref, stored(generation))).resolves.toBe('over');
    await expect(complete(ref, stored(generation))).resolves.toBe('over');
    await expect(find()).resolves.toMatchObject({ state: 'revoked', generation: 0 });
    await expect(claim({ generation, born: 0, token: 'b' })).resolves.toEqual({ kind: 'gone' });
    await expect(claim({ token: 'b' })).resolves.toEqual({ kind: 'gone' });
  });

  it('is over if another add came in between, and is given up', async () => {
    const ref = await run({ generation: await add() });
    const replacing = await opened();
    const generation = await openedAgain(ref);
    await commit(replacing);
    await expect(complete(ref, stored(generation))).resolves.toBe('over');
    await expect(claim({ generation, born: ref.born, token: 'b' })).resolves.toEqual({ kind: 'gone' });
    await expect(claim({ generation: replacing, token: 'b' })).resolves.toMatchObject({ kind: 'run' });
  });

  it('is refused once another run has taken over, and is given up', async () => {
    const short = await jobs.harness.withLease(jobs.tubeName, 30);
    const request = copy();
    const [answer] = await short.claim([request]);
    const ref = runOf(request, answer);
    const [opening] = await short.open([
      { id: 'job', opening: { by: 'again', run: ref }, due: nowMs(), announced: THREE.mask },
    ]);
    if (opening?.kind !== 'opened') throw new Error('not opened');
    await jobs.harness.until(short, short.now() + 40);
    const other = await run({ token: 'b' });
    await expect(complete(ref, stored(opening.generation))).resolves.toBe('refused');
    await expect(extend(other)).resolves.toBe('ok');
    await complete(other, { kind: 'back' });
    // Not to wait: it is sure that no claim adopts it, so its copies can be deleted.
    await expect(claim({ generation: opening.generation, born: 0, token: 'b' })).resolves.toEqual({
      kind: 'gone',
    });
  });

  it('is refused for a lost record that nobody may recreate, and is given up', async () => {
    const ref = await run();
    const generation = await openedAgain(ref);
    await jobs.harness.wipe();
    const old = { ...ref, lastOk: jobs.tube.now() - SETTINGS.doneTtl - 5 };
    await expect(complete(old, stored(generation))).resolves.toBe('refused');
    await expect(claim({ generation, born: 0, token: 'b' })).resolves.toEqual({ kind: 'gone' });
    await expect(claim({ token: 'b' })).resolves.toMatchObject({ kind: 'run' });
  });

  it('does not continue as a generation that was given up: its copies may be deleted already', async () => {
    const ref = await run();
    const generation = await openedAgain(ref);
    await expect(abort(generation)).resolves.toBe('aborted');
    await expect(complete(ref, stored(generation))).resolves.toBe('refused');
    await expect(find()).resolves.toMatchObject({ state: 'running', generation: 0 });
    await expect(complete(ref, { kind: 'retry', due: nowMs() - 1_000 })).resolves.toBe('ok');
    await expect(claim({ token: 'b' })).resolves.toMatchObject({ kind: 'run', attempt: 2 });
  });

  it('does not change a run that ended otherwise', async () => {
    const ref = await run();
    const generation = await openedAgain(ref);
    await complete(ref, { kind: 'retry', due: nowMs() - 1_000 });
    await expect(complete(ref, stored(generation))).resolves.toBe('refused');
    await expect(claim({ token: 'b' })).resolves.toMatchObject({ kind: 'run', attempt: 2 });
  });

  describe('where too few copies of it are stored', () => {
    const unstored = (generation: number, over: { due?: number } = {}) => ({
      ...stored(generation, over),
      kind: 'later' as const,
      owed: { mask: 0b001, unknown: false },
      places: placesOf('one').slice(0, 1),
    });

    it('waits as the same generation with fresh attempts, not as the opened one', async () => {
      await complete(await run(), { kind: 'retry', due: nowMs() - 1_000 });
      const ref = await run({ token: 'b' });
      expect(ref.attempt).toBe(2);
      const generation = await openedAgain(ref);
      const due = nowMs() - 500;
      await expect(complete(ref, unstored(generation, { due }))).resolves.toBe('ok');
      await expect(find()).resolves.toMatchObject({ state: 'waiting', generation: 0, due, attempt: 0 });
      await expect(claim({ generation, born: 0, token: 'c' })).resolves.toEqual({ kind: 'gone' });
      const next = await run({ token: 'c' });
      expect(next).toMatchObject({ attempt: 1, due });
      expect(next.fence).toBeGreaterThan(ref.fence);
    });

    it('waits where nothing was opened, too, and its copies wait for that time', async () => {
      const due = nowMs() + 60_000;
      await expect(complete(await run(), { ...unstored(-1, { due }), owed: NONE, places: [] })).resolves.toBe(
        'ok',
      );
      await expect(find()).resolves.toMatchObject({ state: 'waiting', generation: 0, due, attempt: 0 });
      const answer = await claim({ token: 'b' });
      expect(answer.kind).toBe('wait');
      if (answer.kind === 'wait') expect(answer.ms).toBeGreaterThan(50_000);
    });

    it('answers the same to a repeat, until another run', async () => {
      const ref = await run();
      const generation = await openedAgain(ref);
      await complete(ref, unstored(generation));
      await expect(complete(ref, unstored(generation))).resolves.toBe('ok');
      const next = await run({ token: 'b' });
      await expect(complete(ref, unstored(generation))).resolves.toBe('refused');
      await expect(extend(next)).resolves.toBe('ok');
    });

    it('is kept until long after its time, with the copies of both', async () => {
      const ref = await run();
      const generation = await openedAgain(ref);
      const due = nowMs() + 60_000;
      await complete(ref, unstored(generation, { due }));
      expectAbout(await forgottenIn(), 60_000 + KEPT);
      await revoke();
      await settle(0b111);
      expectAbout(await forgottenIn(), 60_000 + KEPT);
      await settle(0b001, { generation });
      expectAbout(await forgottenIn(), SETTINGS.doneTtl);
    });

    it('is over if a revoke or another add came in between', async () => {
      const revoked = await run();
      const generation = await openedAgain(revoked);
      await revoke();
      await expect(complete(revoked, unstored(generation))).resolves.toBe('over');
      await expect(claim({ generation, born: 0, token: 'b' })).resolves.toEqual({ kind: 'gone' });
      await expect(claim({ token: 'b' })).resolves.toEqual({ kind: 'gone' });
    });

    it('ends the hold of a run that was replaced', async () => {
      const ref = await run({ generation: await add() });
      const replacing = await opened();
      const generation = await openedAgain(ref);
      await commit(replacing);
      await expect(complete(ref, unstored(generation))).resolves.toBe('over');
      await expect(claim({ generation, born: ref.born, token: 'b' })).resolves.toEqual({ kind: 'gone' });
      await expect(claim({ generation: replacing, token: 'b' })).resolves.toMatchObject({ kind: 'run' });
    });

    it('is accepted without a record while the last OK is young', async () => {
      const ref = await run();
      const generation = await openedAgain(ref);
      await jobs.harness.wipe();
      await expect(complete(ref, unstored(generation))).resolves.toBe('ok');
      await expect(claim({ generation, born: 0, token: 'b' })).resolves.toEqual({ kind: 'gone' });
      await expect(claim({ token: 'b' })).resolves.toMatchObject({ kind: 'run', attempt: 1 });
    });

    it('is refused for a lost record that nobody may recreate, and the opened generation is given up', async () => {
      const ref = await run();
      const generation = await openedAgain(ref);
      await jobs.harness.wipe();
      const old = { ...ref, lastOk: jobs.tube.now() - SETTINGS.doneTtl - 5 };
      await expect(complete(old, unstored(generation))).resolves.toBe('refused');
      await expect(claim({ generation, born: 0, token: 'b' })).resolves.toEqual({ kind: 'gone' });
      await expect(claim({ token: 'b' })).resolves.toMatchObject({ kind: 'run' });
    });

    it('is refused once the opened one is the job, whose copies are to stay', async () => {
      const short = await jobs.harness.withLease(jobs.tubeName, 30);
      const request = copy();
      const [answer] = await short.claim([request]);
      const ref = runOf(request, answer);
      const opening = { id: 'job', opening: { by: 'again', run: ref }, due: nowMs(), announced: 7 } as const;
      const [answered] = await short.open([opening]);
      if (answered?.kind !== 'opened') throw new Error('not opened');
      const { generation } = answered;
      await jobs.harness.until(short, short.now() + 40);
      await commit(generation, { born: 0 });
      await expect(complete(ref, unstored(generation))).resolves.toBe('refused');
      await expect(find()).resolves.toMatchObject({ state: 'waiting', generation });
      await expect(claim({ generation, born: 0, token: 'b' })).resolves.toMatchObject({ kind: 'run' });
    });
  });
});
