// A paused tube: no run is granted, and its time makes no job stale.
import { describe, expect, it } from '@jest/globals';
import { SETTINGS } from './ledger-harness.js';
import { everyLedger, MINUTE, OLD, THREE } from './ledger-jobs.js';

const { staleAfter, lease } = SETTINGS;
const SECOND = 1_000;
/** Pauses that a tube remembers. */
const REMEMBERED = 8;

everyLedger((jobs) => {
  const { add, claim, complete, done, nowMs, pass, revoke, run } = jobs;
  const pause = (until?: number) => jobs.tube.pause(until);
  const resume = () => jobs.tube.resume();
  const paused = () => jobs.tube.paused();

  describe('a pause', () => {
    it('is returned as it is, until it is resumed', async () => {
      await expect(paused()).resolves.toBeUndefined();
      const before = nowMs();
      const begun = await pause();
      expect(begun).toEqual({ since: expect.any(Number) });
      expect(Math.abs(begun!.since - before)).toBeLessThan(SECOND);
      await expect(paused()).resolves.toEqual(begun);
      await expect(pause()).resolves.toEqual(begun);
      await expect(resume()).resolves.toEqual(begun);
      await expect(paused()).resolves.toBeUndefined();
      await expect(resume()).resolves.toBeUndefined();
    });

    it('ends automatically at its time, even one that was longer before', async () => {
      const until = nowMs() + 60;
      const begun = await pause();
      await expect(pause(until)).resolves.toEqual({ ...begun, until });
      await expect(paused()).resolves.toEqual({ ...begun, until });
      await jobs.harness.until(jobs.tube, until);
      await expect(paused()).resolves.toBeUndefined();
      await expect(claim()).resolves.toMatchObject({ kind: 'run' });
    });

    it('does not begin with an end in the past, but stays if there already is one', async () => {
      await expect(pause(nowMs() - SECOND)).resolves.toBeUndefined();
      const begun = await pause();
      await expect(pause(nowMs() - SECOND)).resolves.toEqual(begun);
    });

    it('applies to one tube', async () => {
      await pause();
      const other = jobs.harness.tube(`${jobs.tubeName}.other`);
      await other.readTime();
      await expect(other.paused()).resolves.toBeUndefined();
      await expect(other.claim([jobs.copy()])).resolves.toMatchObject([{ kind: 'run' }]);
    });
  });

  describe('claim in a paused tube', () => {
    it('grants no first run, and says when to ask again', async () => {
      await pause();
      await expect(claim()).resolves.toEqual({ kind: 'paused', ms: SECOND });
      await pause(nowMs() + MINUTE);
      const answer = await claim({ token: 'b' });
      expect(answer).toEqual({ kind: 'paused', ms: expect.any(Number) });
      expect(Math.abs((answer as { ms: number }).ms - MINUTE)).toBeLessThan(SECOND);
      await resume();
      await expect(claim()).resolves.toMatchObject({ kind: 'run', attempt: 1 });
    });

    it('grants no further run, and counts no attempt', async () => {
      await complete(await run(), { kind: 'retry', due: nowMs() - SECOND });
      await pause();
      await expect(claim({ token: 'b' })).resolves.toMatchObject({ kind: 'paused' });
      await expect(claim({ token: 'b', attempts: 1 })).resolves.toMatchObject({ kind: 'paused' });
      await resume();
      await expect(claim({ token: 'b' })).resolves.toMatchObject({ kind: 'run', attempt: 2 });
    });

    it('grants no run whose commit was lost', async () => {
      await pause();
      await expect(claim({ generation: nowMs() - OLD })).resolves.toMatchObject({ kind: 'paused' });
    });

    it('takes no run over whose lease is over', async () => {
      const short = await jobs.harness.withLease(jobs.tubeName, 30);
      await short.claim([jobs.copy()]);
      await pause();
      await pass(40);
      await expect(claim({ token: 'b' })).resolves.toMatchObject({ kind: 'paused' });
    });

    it('answers as always where no run would begin', async () => {
      const ref = await run();
      await run({ id: 'done' }).then(done);
      const death = { kind: 'dead', death: { why: 'discarded' }, places: [] } as const;
      await complete(await run({ id: 'dead' }), death);
      await revoke({ id: 'revoked' });
      await pause();
      await expect(claim()).resolves.toMatchObject({ kind: 'run', fence: ref.fence });
      await expect(claim({ token: 'b' })).resolves.toMatchObject({ kind: 'busy' });
      await expect(claim({ id: 'done' })).resolves.toEqual({ kind: 'gone' });
      await expect(claim({ id: 'revoked' })).resolves.toEqual({ kind: 'gone' });
      await expect(claim({ id: 'dead' })).resolves.toEqual({ kind: 'dead', fresh: false });
      await expect(claim({ id: 'early', due: nowMs() + MINUTE })).resolves.toMatchObject({ kind: 'wait' });
    });

    it('changes nothing for ongoing runs, nor for adds and revokes', async () => {
      const ref = await run();
      await pause();
      await expect(jobs.extend(ref)).resolves.toBe('ok');
      await expect(done(ref)).resolves.toBe('ok');
      await add({ id: 'key' });
      await expect(jobs.revokeKey({ id: 'key' })).resolves.toBe('revoked');
    });

    it('settles along with it', async () => {
      await done(await run());
      await pause();
      const settled = { id: 'job', generation: 0, mask: THREE.mask, unknown: false };
      await expect(
        jobs.tube.claim([jobs.copy({ id: 'next' })], { settled: [settled] }),
      ).resolves.toMatchObject([{ kind: 'paused' }]);
      expect(await jobs.forgottenIn()).toBeLessThanOrEqual(SETTINGS.doneTtl);
    });
  });

  describe('staleAfter', () => {
    /** A pause began so long ago, and ended so long ago. */
    const pausedFrom = (ago: number, until: number) =>
      jobs.harness.pauses(jobs.tubeName, [[nowMs() - ago, nowMs() - until]]);

    it('does not count the time of a pause', async () => {
      await pausedFrom(staleAfter, MINUTE);
      const due = nowMs() - 2 * staleAfter + 2 * MINUTE;
      await expect(claim({ due })).resolves.toMatchObject({ kind: 'run', attempt: 1 });
      await expect(claim({ id: 'older', due: due - 2 * MINUTE })).resolves.toEqual({ kind: 'stale' });
    });

    it('counts no more of a pause than has passed since the job was due', async () => {
      const due = nowMs() - staleAfter - MINUTE;
      await pausedFrom(staleAfter + 9 * MINUTE, staleAfter + 2 * MINUTE);
      await expect(claim({ due })).resolves.toEqual({ kind: 'stale' });
      await pausedFrom(staleAfter + 3 * MINUTE, staleAfter - MINUTE);
      await expect(claim({ id: 'other', due })).resolves.toMatchObject({ kind: 'run' });
    });

    it('forgives only its own time, or a leftover copy of a job that ended long ago would run', async () => {
      await pausedFrom(5 * staleAfter, MINUTE);
      await expect(claim({ due: nowMs() - 2 * staleAfter - SECOND })).resolves.toEqual({ kind: 'stale' });
      await expect(claim({ id: 'b', due: nowMs() - 2 * staleAfter + MINUTE })).resolves.toMatchObject({
        kind: 'run',
      });
    });

    it('makes no job stale while the tube is paused', async () => {
      await pause();
      await expect(claim({ due: nowMs() - 3 * staleAfter })).resolves.toMatchObject({ kind: 'paused' });
    });

    it('counts the oldest pauses as one, with the time between them, when there are too many', async () => {
      const hour = 60 * MINUTE;
      const ago = (hours: number) => nowMs() - hours * hour;
      const spans = Array.from({ length: REMEMBERED }, (_, i) => [ago(40 - 2 * i), ago(39 - 2 * i)] as const);
      await jobs.harness.pauses(jobs.tubeName, spans);
      await pause(nowMs() + 50);
      await pass(60);
      // From 40 to 37 hours ago, and six more hours.
      const due = nowMs() - staleAfter - 9 * hour;
      await expect(claim({ due: due + MINUTE })).resolves.toMatchObject({ kind: 'run' });
      await expect(claim({ id: 'other', due: due - MINUTE })).resolves.toEqual({ kind: 'stale' });
    });

    it('forgets a pause that was too long ago to matter', async () => {
      await pausedFrom(3 * staleAfter, 2 * staleAfter + 2 * MINUTE);
      await pause(nowMs() + lease);
      await resume();
      await expect(jobs.harness.pauseCount(jobs.tubeName)).resolves.toBe(1);
    });
  });
});
