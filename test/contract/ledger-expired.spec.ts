// Jobs that expire: which claims end them, and what is answered from then on. Facts about every ledger.
import { describe, expect, it } from '@jest/globals';
import type { ClaimRequest } from 'nest-dq/src/ledger/requests.js';
import { SETTINGS } from './ledger-harness.js';
import { everyLedger, expectAbout, KEPT, MINUTE, OLD, THREE } from './ledger-jobs.js';

everyLedger((jobs) => {
  const { add, claim, commit, complete, extend, find, forgottenIn, letter, nowMs, opened, pass } = jobs;
  const { revoke, revokeKey, run, settle } = jobs;

  /** The expiry of a claim: `ms` after now. */
  const expiring = (ms: number, letter = false): Pick<ClaimRequest, 'expiry'> => ({
    expiry: { startBy: nowMs() + ms, letter, owed: THREE },
  });
  const expired = (letter = false) => expiring(-500, letter);
  const EXPIRED = { kind: 'expired', letter: false };

  describe('a claim of an expired job', () => {
    it('ends it, once, and none of its copies runs', async () => {
      const answers = await jobs.tube.claim([
        jobs.copy({ ...expired() }),
        jobs.copy({ ...expired(), token: 'b' }),
        jobs.copy({ token: 'c' }),
      ]);
      expect(answers).toEqual([EXPIRED, { kind: 'gone' }, { kind: 'gone' }]);
      await expect(find()).resolves.toMatchObject({ state: 'expired', attempt: 0 });
    });

    it('grants the run of one that has not expired yet, with or without a record', async () => {
      await expect(claim(expiring(MINUTE))).resolves.toMatchObject({ kind: 'run', attempt: 1 });
      const generation = await add({ id: 'keyed' });
      await expect(claim({ id: 'keyed', generation, ...expiring(MINUTE) })).resolves.toMatchObject({
        kind: 'run',
      });
    });

    it('ends the generation of a key, and the key is free', async () => {
      const generation = await add();
      await expect(claim({ generation, ...expired() })).resolves.toEqual(EXPIRED);
      const next = await opened({ opening: { by: 'add', onDuplicate: 'reject' } });
      await expect(commit(next)).resolves.toMatchObject({ kind: 'committed' });
      await expect(find()).resolves.toMatchObject({ state: 'waiting', generation: next });
    });

    it('ends a newer generation whose commit was lost, and the one it replaced', async () => {
      const first = await add();
      const second = await opened();
      await pass(OLD);
      await expect(claim({ generation: second, ...expired() })).resolves.toEqual(EXPIRED);
      await expect(claim({ generation: first })).resolves.toEqual({ kind: 'gone' });
      await expect(commit(second)).resolves.toMatchObject({ kind: 'committed', already: true });
      await expect(find()).resolves.toMatchObject({ state: 'expired' });
    });

    it('lets a move that comes too late never run', async () => {
      const generation = await add();
      const opening = { by: 'move', expected: generation } as const;
      const moved = await opened({ opening });
      await expect(claim({ generation, ...expired() })).resolves.toEqual(EXPIRED);
      await expect(commit(moved, { opening, born: generation })).resolves.toMatchObject({
        kind: 'refused',
        why: 'expired',
      });
      await expect(claim({ generation: moved, born: generation })).resolves.toEqual({ kind: 'gone' });
    });

    it('waits while it is running, however long, and accepts the outcome', async () => {
      const ref = await run();
      await expect(claim({ token: 'b', ...expired() })).resolves.toMatchObject({ kind: 'busy' });
      await expect(extend(ref)).resolves.toBe('ok');
      await expect(complete(ref, { kind: 'done' })).resolves.toBe('ok');
      await expect(find()).resolves.toMatchObject({ state: 'done' });
    });

    it('grants no further run after one that failed', async () => {
      const ref = await run();
      await complete(ref, { kind: 'retry', due: nowMs() - 1 });
      await expect(claim({ token: 'b', ...expired() })).resolves.toEqual(EXPIRED);
      await expect(find()).resolves.toMatchObject({ state: 'expired', attempt: 1 });
    });

    it('ends one whose retry is due only at its expiry', async () => {
      const ref = await run();
      const startBy = nowMs() + Math.floor(jobs.tube.ahead / 2);
      await complete(ref, { kind: 'retry', due: startBy });
      const expiry = { startBy, letter: false, owed: THREE };
      await expect(claim({ token: 'b', expiry })).resolves.toEqual(EXPIRED);
    });

    it('refuses what a run whose lease had ended reports later', async () => {
      const lessee = await jobs.harness.withLease(jobs.tubeName, 5);
      const request = jobs.copy();
      const [answer] = await lessee.claim([request]);
      if (answer?.kind !== 'run') throw new Error(`claimed, and answered ${JSON.stringify(answer)}`);
      await pass(20);
      await expect(claim({ token: 'b', ...expired() })).resolves.toEqual(EXPIRED);
      const { id, generation, born } = request;
      const { fence, attempt, due } = answer;
      const ref = { id, generation, born, due, fence, attempt, lastOk: nowMs() };
      await expect(extend(ref)).resolves.toBe('refused');
      await expect(complete(ref, { kind: 'done' })).resolves.toBe('refused');
      await expect(find()).resolves.toMatchObject({ state: 'expired' });
    });

    it('prefers the dead letter if its attempts are used up', async () => {
      const lessee = await jobs.harness.withLease(jobs.tubeName, 5);
      await lessee.claim([jobs.copy({ attempts: 1 })]);
      await pass(20);
      await expect(claim({ token: 'b', attempts: 1, ...expired() })).resolves.toEqual({
        kind: 'dead',
        fresh: true,
      });
    });

    it('ends even one that is long overdue and has no record', async () => {
      const due = nowMs() - SETTINGS.staleAfter - MINUTE;
      await expect(claim({ due, ...expired() })).resolves.toEqual(EXPIRED);
    });

    it('waits for the end of a pause', async () => {
      await jobs.tube.pause();
      await expect(claim(expired())).resolves.toMatchObject({ kind: 'paused' });
      await jobs.tube.resume();
      await expect(claim(expired())).resolves.toEqual(EXPIRED);
    });

    it('uses up no turn of a rate, and no permit', async () => {
      const limits = { interval: 60_000_000, concurrency: 1 };
      const permit = '';
      const claimLimited = (over: Partial<ClaimRequest>) =>
        jobs.tube.claim([jobs.copy({ permit, ...over })], { limits });
      await claimLimited({ id: 'x', ...expired() });
      await expect(claimLimited({ id: 'y' })).resolves.toMatchObject([{ kind: 'run' }]);
    });
  });

  describe('an expired job', () => {
    it('is remembered while a copy may come, and then like any that ended', async () => {
      await claim(expired());
      expectAbout(await forgottenIn(), KEPT);
      await settle(0b111);
      expectAbout(await forgottenIn(), SETTINGS.doneTtl);
    });

    it('is too late to revoke or move, and not listed', async () => {
      const generation = await add();
      await claim({ generation, ...expired() });
      await expect(revoke({ born: generation })).resolves.toBe('expired');
      await expect(revokeKey()).resolves.toBe('expired');
      await expect(jobs.open({ opening: { by: 'move', expected: generation } })).resolves.toMatchObject({
        kind: 'refused',
        why: 'expired',
      });
      await expect(jobs.tube.ask('waiting', [{ limit: 10 }])).resolves.toMatchObject([{ ids: [] }]);
    });

    it('becomes a dead letter where that is asked, and runs when revived', async () => {
      const generation = await add();
      await expect(claim({ generation, ...expired(true) })).resolves.toEqual({
        kind: 'expired',
        letter: true,
      });
      await expect(letter({ born: generation })).resolves.toMatchObject({ why: 'expired', attempt: 0 });
      await expect(claim({ generation, token: 'b' })).resolves.toEqual({ kind: 'dead', fresh: false });
      const opening = { by: 'revive', expected: generation } as const;
      const revived = await opened({ opening });
      await commit(revived, { opening, born: generation });
      await expect(claim({ generation: revived, born: generation })).resolves.toMatchObject({ kind: 'run' });
    });
  });

  it('a job that continues as its old generation has the expiry of its next occurrence', async () => {
    const none = { generation: -1, announced: 0, owed: { mask: 0, unknown: false }, places: [] };
    const ref = await run();
    const startBy = nowMs() + MINUTE;
    await complete(ref, { kind: 'later', ...none, due: nowMs() - 1, startBy });
    await expect(claim({ token: 'b', ...expired() })).resolves.toMatchObject({ kind: 'run', startBy });
  });
});
