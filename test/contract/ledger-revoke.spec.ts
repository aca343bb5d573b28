// Effects and answers of a revoke.
import { describe, expect, it } from '@jest/globals';
import type { CompleteRequest } from 'nest-dq/src/ledger/requests.js';
import { SETTINGS } from './ledger-harness.js';
import { everyLedger, expectAbout, KEPT, MINUTE, NONE, OLD, placesOf, runOf, THREE } from './ledger-jobs.js';

everyLedger((jobs) => {
  const { abort, add, claim, commit, copy, done, extend, find, complete, forgottenIn } = jobs;
  const { nowMs, opened, revoke, revokeAll, revokeKey, run } = jobs;

  it('revokes a waiting job that is unknown so far', async () => {
    const due = nowMs() + MINUTE;
    await expect(revoke({ due })).resolves.toBe('revoked');
    await expect(revoke({ due })).resolves.toBe('revoked');
    await expect(claim({ due })).resolves.toEqual({ kind: 'gone' });
    await expect(claim()).resolves.toEqual({ kind: 'gone' });
  });

  it('revokes a job that is overdue, while its end would still be remembered', async () => {
    const due = nowMs() - SETTINGS.doneTtl + MINUTE;
    await expect(revoke({ due })).resolves.toBe('revoked');
    await expect(claim({ due })).resolves.toEqual({ kind: 'gone' });
  });

  it('cannot know what became of a job whose end may be forgotten, yet does not let it start', async () => {
    const due = nowMs() - SETTINGS.doneTtl - 1_000;
    await expect(revoke({ due })).resolves.toBe('unknown');
    await expect(revoke({ due })).resolves.toBe('unknown');
    await expect(claim({ due })).resolves.toEqual({ kind: 'gone' });
  });

  it('revokes a job that waits for a retry', async () => {
    await complete(await run(), { kind: 'retry', due: nowMs() + MINUTE });
    await expect(revoke()).resolves.toBe('revoked');
    await expect(claim({ token: 'b' })).resolves.toEqual({ kind: 'gone' });
  });

  it('returns whether a run was begun, whatever became of it', async () => {
    const begun = async (id: string, outcome?: CompleteRequest['outcome']) => {
      if (outcome) await complete(await run({ id }), outcome);
      const { result, begun } = await revokeAll({ id });
      return [result, begun];
    };
    await expect(begun('never')).resolves.toEqual(['revoked', false]);
    await expect(begun('never')).resolves.toEqual(['revoked', false]);
    await expect(begun('retry', { kind: 'retry', due: nowMs() + MINUTE })).resolves.toEqual([
      'revoked',
      true,
    ]);
    await expect(begun('back', { kind: 'back' })).resolves.toEqual(['revoked', true]);
    await expect(begun('done', { kind: 'done' })).resolves.toEqual(['done', true]);
    const ref = await run({ id: 'again' });
    const generation = await opened({ id: 'again', opening: { by: 'again', run: ref } });
    const due = nowMs() + MINUTE;
    await complete(ref, { kind: 'again', generation, due, announced: 7, owed: THREE, places: [] });
    await expect(begun('again')).resolves.toEqual(['revoked', true]);
    await run({ id: 'runs' });
    await expect(begun('runs')).resolves.toEqual(['running', true]);
  });

  it('keeps the places of the job it revoked, and those it was given', async () => {
    const places = placesOf('n');
    const due = nowMs() + MINUTE;
    await revoke({ id: 'placed', due, places });
    await revoke({ id: 'placed', due });
    await expect(find('placed')).resolves.toMatchObject({ state: 'revoked', places });
    await revoke({ id: 'repeated', due });
    await revoke({ id: 'repeated', due, places });
    await expect(find('repeated')).resolves.toMatchObject({ state: 'revoked', places });
    await add({ id: 'keyed', due, places });
    await revokeKey({ id: 'keyed' });
    await expect(revokeAll({ id: 'keyed', born: undefined, due: 0, owed: NONE })).resolves.toMatchObject({
      result: 'revoked',
      revoked: { places },
    });
  });

  it('lets a running job finish, and nothing follows it', async () => {
    const ref = await run();
    await expect(revoke()).resolves.toBe('running');
    await expect(revoke()).resolves.toBe('running');
    await expect(extend(ref)).resolves.toBe('ok');
    await expect(claim({ token: 'b' })).resolves.toMatchObject({ kind: 'busy' });
    await expect(complete(ref, { kind: 'retry', due: nowMs() - 1_000 })).resolves.toBe('over');
    await expect(complete(ref, { kind: 'retry', due: nowMs() - 1_000 })).resolves.toBe('over');
    await expect(claim({ token: 'b' })).resolves.toEqual({ kind: 'gone' });
    await expect(revoke()).resolves.toBe('revoked');
  });

  it('lets the run of a later generation finish as well', async () => {
    const generation = nowMs() - OLD;
    const ref = await run({ generation });
    await expect(revoke({ born: generation })).resolves.toBe('running');
    await expect(run({ generation })).resolves.toMatchObject({ fence: ref.fence, attempt: 1 });
    await expect(claim({ generation, token: 'b' })).resolves.toMatchObject({ kind: 'busy' });
    await expect(complete(ref, { kind: 'back' })).resolves.toBe('over');
    await expect(claim({ generation, token: 'b' })).resolves.toEqual({ kind: 'gone' });
  });

  it('lets no run that was given back start again', async () => {
    const ref = await run();
    await revoke();
    await expect(complete(ref, { kind: 'back' })).resolves.toBe('over');
    await expect(claim({ token: 'b' })).resolves.toEqual({ kind: 'gone' });
  });

  it('lets a running job be done or dead', async () => {
    const first = await run({ id: '1' });
    const second = await run({ id: '2' });
    await revoke({ id: '1' });
    await revoke({ id: '2' });
    await expect(done(first)).resolves.toBe('ok');
    await expect(complete(second, { kind: 'dead', death: { why: 'discarded' }, places: [] })).resolves.toBe(
      'ok',
    );
    await expect(revoke({ id: '1' })).resolves.toBe('done');
    await expect(revoke({ id: '2' })).resolves.toBe('dead');
  });

  it('answers a claim that is repeated under it as before', async () => {
    const first = await claim();
    await revoke();
    await expect(claim()).resolves.toEqual(first);
  });

  it('does not let a job start again whose runner was lost under it', async () => {
    const short = await jobs.harness.withLease(jobs.tubeName, 40);
    const [answer] = await short.claim([copy()]);
    expect(answer?.kind).toBe('run');
    // In real time the lease may be over already: then the job is revoked at once, and the rest holds as well.
    const [{ result } = { result: undefined }] = await short.revoke([
      { id: 'job', born: 0, due: nowMs(), owed: THREE, abort: false },
    ]);
    expect(['running', 'revoked']).toContain(result);
    await jobs.harness.until(short, short.now() + 50);
    await expect(claim({ token: 'a' })).resolves.toEqual({ kind: 'gone' });
    await expect(claim({ token: 'b' })).resolves.toEqual({ kind: 'gone' });
    await expect(revoke()).resolves.toBe('revoked');
  });

  it('revokes a job whose lease has lapsed, and refuses nothing to its late runner but its outcome', async () => {
    const short = await jobs.harness.withLease(jobs.tubeName, 30);
    const request = copy();
    const [answer] = await short.claim([request]);
    await jobs.harness.until(short, short.now() + 40);
    await expect(revoke()).resolves.toBe('revoked');
    const ref = runOf(request, answer);
    await expect(extend(ref)).resolves.toBe('refused');
    await expect(done(ref)).resolves.toBe('over');
  });

  it('by a key covers earlier openings, even while an older run continues', async () => {
    const generation = nowMs() - OLD;
    const ref = await run();
    await revokeKey();
    await done(ref);
    await expect(claim({ generation, token: 'b' })).resolves.toEqual({ kind: 'gone' });
  });

  it('by a key covers what was opened by a clock ahead of the server’s', async () => {
    await add();
    const opened = nowMs() + MINUTE;
    await jobs.harness.overwrite(jobs.tubeName, 'job', { opened });
    await expect(revokeKey()).resolves.toBe('revoked');
    await expect(claim({ generation: opened })).resolves.toEqual({ kind: 'gone' });
    await expect(claim({ generation: opened + 1 })).resolves.toMatchObject({ kind: 'wait' });
  });

  it('by a reference leaves alone an add that is on its way, and remembers what was given up', async () => {
    const born = await add();
    const given = await opened();
    await abort(given);
    const onItsWay = await opened();
    await expect(revoke({ born })).resolves.toBe('revoked');
    await expect(claim({ generation: given })).resolves.toEqual({ kind: 'gone' });
    await expect(commit(onItsWay)).resolves.toMatchObject({ kind: 'committed' });
    await done(await run({ generation: onItsWay }));
    const last = await opened();
    await expect(revoke({ born: onItsWay })).resolves.toBe('done');
    await expect(commit(last)).resolves.toMatchObject({ kind: 'committed' });
  });

  it('without a record covers its own add only, for its key may have a newer one', async () => {
    const newer = nowMs() - OLD;
    const older = newer - OLD;
    await expect(revoke({ born: older })).resolves.toBe('revoked');
    await expect(revoke({ born: older })).resolves.toBe('revoked');
    await expect(claim({ generation: older })).resolves.toEqual({ kind: 'gone' });
    await expect(claim({ generation: newer - 1, born: older })).resolves.toEqual({ kind: 'gone' });
    await expect(claim({ generation: newer })).resolves.toMatchObject({ kind: 'run' });
    await expect(revokeKey({ id: 'other' })).resolves.toBe('unknown');
    await expect(claim({ id: 'other', generation: newer })).resolves.toEqual({ kind: 'gone' });
  });

  it('changes nothing of a job that was born otherwise', async () => {
    await complete(await run(), { kind: 'back' });
    await expect(revoke({ born: nowMs() - MINUTE })).resolves.toBe('unknown');
    await expect(claim({ token: 'b' })).resolves.toMatchObject({ kind: 'run' });
  });

  it('answers many jobs in their order', async () => {
    await done(await run({ id: '1' }));
    const due = nowMs() + MINUTE;
    const ask = (id: string) => ({ id, born: 0, due, owed: THREE, abort: false });
    await expect(jobs.tube.revoke([ask('2'), ask('1')])).resolves.toMatchObject([
      { result: 'revoked' },
      { result: 'done' },
    ]);
  });

  it('returns what it revoked, where it has no run', async () => {
    const places = placesOf('n');
    const born = await add({ places });
    const revoked = await revokeAll({ born });
    expect(revoked).toMatchObject({
      result: 'revoked',
      revoked: { state: 'waiting', generation: born, places },
    });
    const generation = await add({ places });
    await run({ generation });
    const running = await revokeAll({ born: generation });
    expect(running.result).toBe('running');
    expect(running.revoked).toBeUndefined();
  });

  it('does not forget the copies that only the reference knows of', async () => {
    await complete(await run(), { kind: 'retry', due: nowMs() + MINUTE }, NONE);
    await revoke({ due: nowMs() + MINUTE });
    expectAbout(await forgottenIn(), MINUTE + KEPT);
  });

  describe('with abort', () => {
    it('asks the handler to stop at its next extend, and at each', async () => {
      const ref = await run();
      await expect(revoke({ abort: true })).resolves.toBe('running');
      await expect(extend(ref)).resolves.toBe('abort');
      await expect(revoke()).resolves.toBe('running');
      await expect(extend(ref)).resolves.toBe('abort');
      await expect(complete(ref, { kind: 'back' })).resolves.toBe('over');
      await expect(extend(ref)).resolves.toBe('refused');
    });

    it('asks one that runs under a revoke already', async () => {
      const ref = await run();
      await revoke();
      await revoke({ abort: true });
      await expect(extend(ref)).resolves.toBe('abort');
      await expect(done(ref)).resolves.toBe('ok');
    });

    it('asks nobody of a job that waits', async () => {
      const generation = await add();
      await expect(revoke({ born: generation, abort: true })).resolves.toBe('revoked');
      const ref = await run({ generation: await add() });
      await expect(extend(ref)).resolves.toBe('ok');
    });
  });

  describe('by key', () => {
    it('means the present schedule', async () => {
      const first = await add();
      const second = await add();
      await expect(revokeKey()).resolves.toBe('revoked');
      await expect(revokeKey()).resolves.toBe('revoked');
      await expect(claim({ generation: second })).resolves.toEqual({ kind: 'gone' });
      await expect(revoke({ born: first })).resolves.toBe('unknown');
    });

    it('returns what the job is', async () => {
      const ref = await run({ generation: await add() });
      await expect(revokeKey()).resolves.toBe('running');
      await done(ref);
      await expect(revokeKey()).resolves.toBe('done');
    });

    it('of an unknown key leaves a tombstone all the same', async () => {
      const lost = nowMs() - OLD;
      await expect(revokeKey()).resolves.toBe('unknown');
      await expect(revokeKey()).resolves.toBe('unknown');
      await expect(find()).resolves.toBeUndefined();
      expectAbout(await forgottenIn(), SETTINGS.doneTtl);
      await expect(claim({ generation: lost })).resolves.toEqual({ kind: 'gone' });
      await expect(claim({ generation: await add() })).resolves.toMatchObject({ kind: 'run' });
      await expect(revokeKey()).resolves.toBe('running');
    });

    it('stops an add that is on its way, and says so', async () => {
      await revokeKey();
      const generation = await opened();
      await expect(revokeKey()).resolves.toBe('revoked');
      await expect(commit(generation)).resolves.toMatchObject({ kind: 'refused', why: 'revoked' });
      await expect(revokeKey()).resolves.toBe('revoked');
    });

    it('says so even where the key’s last job is done', async () => {
      await done(await run({ generation: await add() }));
      const generation = await opened();
      await expect(revokeKey()).resolves.toBe('revoked');
      await expect(claim({ generation })).resolves.toEqual({ kind: 'gone' });
      await expect(revokeKey()).resolves.toBe('done');
    });

    it('does not take an aborted add for one on its way', async () => {
      await abort(await opened());
      await expect(revokeKey()).resolves.toBe('unknown');
    });
  });
});
