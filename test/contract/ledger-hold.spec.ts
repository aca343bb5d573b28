// A replaced run continues, and holds its successor back.
import { expect, it } from '@jest/globals';
import type { RunRef } from 'nest-dq/src/ledger/requests.js';
import { SETTINGS } from './ledger-harness.js';
import { everyLedger, expectAbout, KEPT, NONE, runOf } from './ledger-jobs.js';

everyLedger((jobs) => {
  const { add, claim, commit, copy, done, extend, find, complete, forgottenIn } = jobs;
  const { letter, nowMs, opened, pass, revoke, revokeKey, run, settle } = jobs;

  let ref: RunRef;
  let next: number;

  async function replace(): Promise<void> {
    ref = await run({ generation: await add() });
    next = await opened();
    await expect(commit(next)).resolves.toMatchObject({ replaced: { state: 'running', attempt: 1 } });
  }

  it('holds its successor back until it ends', async () => {
    await replace();
    // Its end tells nobody, so the successor is to look again within a second.
    const answer = await claim({ generation: next, token: 'b' });
    expect(answer).toMatchObject({ kind: 'busy', ms: 1_000 });
    await expect(find()).resolves.toMatchObject({ state: 'waiting', generation: next });
    await expect(done(ref)).resolves.toBe('over');
    await expect(done(ref)).resolves.toBe('over');
    const second = await run({ generation: next, token: 'b' });
    expect(second.attempt).toBe(1);
    expect(second.fence).toBeGreaterThan(ref.fence);
    await expect(done(ref)).resolves.toBe('refused');
    await expect(extend(ref)).resolves.toBe('refused');
    await expect(done(second)).resolves.toBe('ok');
  });

  it.each([
    ['retry', { kind: 'retry', due: 0 }],
    ['back', { kind: 'back' }],
    ['dead', { kind: 'dead', death: { why: 'discarded' }, places: [] }],
  ] as const)('only ends its hold by %s', async (_name, outcome) => {
    await replace();
    await expect(complete(ref, outcome)).resolves.toBe('over');
    await expect(letter({ born: ref.born })).resolves.toBeUndefined();
    await expect(claim({ generation: ref.generation, token: 'b' })).resolves.toEqual({ kind: 'gone' });
    await expect(claim({ generation: next, token: 'b' })).resolves.toMatchObject({
      kind: 'run',
      attempt: 1,
    });
  });

  it('keeps holding it back while it extends, even after a second replacement', async () => {
    await replace();
    next = await add();
    await jobs.harness.overwrite(jobs.tubeName, 'job', { holdEnd: nowMs() + 1_000 });
    await expect(extend(ref)).resolves.toBe('ok');
    await pass(1_010);
    await expect(claim({ generation: next, token: 'b' })).resolves.toMatchObject({ kind: 'busy' });
  });

  it('is spared where its lease ended while its process was cut off', async () => {
    await replace();
    const since = nowMs() - 1_000;
    await jobs.harness.overwrite(jobs.tubeName, 'job', { holdEnd: since + 900 });
    const successor = copy({ generation: next, token: 'b' });
    await expect(jobs.tube.claim([successor], { sparedFrom: since })).resolves.toMatchObject([
      { kind: 'busy', ms: 1_000 },
    ]);
    await expect(jobs.tube.claim([successor])).resolves.toMatchObject([{ kind: 'run' }]);
  });

  it('holds it back no longer than its lease', async () => {
    await replace();
    await jobs.harness.overwrite(jobs.tubeName, 'job', { holdEnd: nowMs() - 1_000 });
    await expect(claim({ generation: next, token: 'b' })).resolves.toMatchObject({ kind: 'run' });
    await expect(extend(ref)).resolves.toBe('refused');
  });

  it('holds nothing back whose lease had lapsed before', async () => {
    const short = await jobs.harness.withLease(jobs.tubeName, 30);
    const request = copy({ generation: await add() });
    const [answer] = await short.claim([request]);
    await jobs.harness.until(short, short.now() + 40);
    next = await add();
    await expect(extend(runOf(request, answer))).resolves.toBe('refused');
    await expect(claim({ generation: next, token: 'b' })).resolves.toMatchObject({ kind: 'run' });
  });

  it('continues under a revoke, which never lets its successor start', async () => {
    await replace();
    await expect(jobs.revokeAll({ born: undefined, owed: NONE })).resolves.toMatchObject({
      result: 'running',
      revoked: { state: 'waiting', generation: next },
    });
    await expect(extend(ref)).resolves.toBe('ok');
    await expect(claim({ generation: next, token: 'b' })).resolves.toEqual({ kind: 'gone' });
    await expect(done(ref)).resolves.toBe('over');
    await expect(claim({ generation: next, token: 'b' })).resolves.toEqual({ kind: 'gone' });
    await expect(revoke({ born: next })).resolves.toBe('revoked');
  });

  it('keeps the record of a revoked successor for as long as it runs', async () => {
    await replace();
    await settle(0b111, { generation: ref.generation });
    await settle(0b111, { generation: next });
    await revokeKey();
    expectAbout(await forgottenIn(), SETTINGS.lease + KEPT);
    await done(ref);
    expectAbout(await forgottenIn(), SETTINGS.doneTtl);
  });

  it('stays asked to stop when a later revoke does not ask', async () => {
    ref = await run({ generation: await add() });
    await revokeKey({ abort: true });
    next = await add();
    await revokeKey();
    await expect(extend(ref)).resolves.toBe('abort');
  });

  it('is asked to stop by a revoke, before the replacement or after; its successor is not', async () => {
    ref = await run({ generation: await add() });
    await revokeKey({ abort: true });
    await expect(extend(ref)).resolves.toBe('abort');
    next = await add();
    await expect(extend(ref)).resolves.toBe('abort');
    await expect(complete(ref, { kind: 'back' })).resolves.toBe('over');
    const second = await run({ generation: next, token: 'b' });
    await expect(extend(second)).resolves.toBe('ok');
    next = await add();
    await expect(extend(second)).resolves.toBe('ok');
    await expect(revokeKey({ abort: true })).resolves.toBe('running');
    await expect(extend(second)).resolves.toBe('abort');
  });

  it('is not asked any more once its hold is over and its successor runs', async () => {
    await replace();
    await revokeKey({ abort: true });
    next = await add();
    await jobs.harness.overwrite(jobs.tubeName, 'job', { holdEnd: nowMs() - 1_000 });
    await expect(extend(await run({ generation: next, token: 'b' }))).resolves.toBe('ok');
  });
});
