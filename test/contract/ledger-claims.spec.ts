// Claims: which copy of a job is given the run. Facts about every ledger, like those in the other ledger-*.spec.ts.
import { describe, expect, it } from '@jest/globals';
import type { ClaimAnswer } from 'nest-dq/src/ledger/requests.js';
import { SETTINGS } from './ledger-harness.js';
import { everyLedger, expectAbout, MINUTE, OLD, runOf } from './ledger-jobs.js';

everyLedger((jobs) => {
  const { claim, commit, copy, done, extend, complete, forgottenIn, letter, nowMs, opened, pass, run } = jobs;

  describe('claim', () => {
    it('gives the run of a due job to one of many copies', async () => {
      const answers = await jobs.tube.claim([
        copy({ token: 'a' }),
        copy({ token: 'b' }),
        copy({ token: 'c' }),
      ]);
      expect(answers.map(({ kind }) => kind)).toEqual(['run', 'busy', 'busy']);
    });

    it('answers many jobs in their order', async () => {
      const later = nowMs() + MINUTE;
      const answers = await jobs.tube.claim([
        copy({ id: '1' }),
        copy({ id: '2', due: later }),
        copy({ id: '3' }),
        copy({ id: '1', token: 'b' }),
      ]);
      expect(answers.map(({ kind }) => kind)).toEqual(['run', 'wait', 'run', 'busy']);
    });

    it('answers nothing to nothing', async () => {
      await expect(jobs.tube.claim([])).resolves.toEqual([]);
      await expect(jobs.tube.complete([])).resolves.toEqual([]);
      await expect(jobs.tube.extend([])).resolves.toEqual([]);
      await expect(jobs.tube.revoke([])).resolves.toEqual([]);
      await expect(jobs.tube.settle([])).resolves.toBeUndefined();
    });

    it('keeps tubes and ids apart', async () => {
      const other = jobs.harness.tube(`${jobs.tubeName}2`);
      await expect(claim()).resolves.toMatchObject({ kind: 'run' });
      await expect(claim({ id: 'job2' })).resolves.toMatchObject({ kind: 'run' });
      await expect(other.claim([copy()])).resolves.toMatchObject([{ kind: 'run' }]);
    });

    it('returns when the run was due, and counts it', async () => {
      const due = nowMs() - 500;
      await expect(claim({ due })).resolves.toEqual({
        kind: 'run',
        due,
        attempt: 1,
        fence: expect.any(Number),
      });
    });

    it('grants a run ahead of its time by as much as it says, and returns when it is to begin', async () => {
      const due = Math.floor(jobs.tube.nowAtLeast()) + jobs.tube.ahead;
      await expect(claim({ due })).resolves.toMatchObject({ kind: 'run', due, attempt: 1 });
    });

    it('has certainly reached no later time than the one it returns', () => {
      expect(jobs.tube.nowAtLeast()).toBeLessThanOrEqual(jobs.tube.now());
      expectAbout(jobs.tube.nowAtLeast(), jobs.tube.now());
    });

    it('grants no run sooner, and remembers nothing of one that waits', async () => {
      const due = nowMs() + MINUTE;
      const answer = await claim({ due });
      expect(answer.kind).toBe('wait');
      if (answer.kind === 'wait') expectAbout(answer.ms, MINUTE);
      await expect(forgottenIn()).resolves.toBeUndefined();
    });

    it('waits no longer than until the job is due, or granted ahead', async () => {
      const due = nowMs() + 40;
      let answer = await claim({ due });
      for (let turns = 0; answer.kind === 'wait' && turns < 100; turns++) {
        await pass(answer.ms);
        answer = await claim({ due });
      }
      expect(answer).toMatchObject({ kind: 'run', due });
      expect(jobs.tube.now()).toBeGreaterThanOrEqual(due - jobs.tube.ahead);
    });

    it('gives the same fence and attempt to the same token, with a renewed lease', async () => {
      const short = await jobs.harness.withLease(jobs.tubeName, 1_000);
      const [first] = await short.claim([copy()]);
      await expect(claim()).resolves.toEqual(first);
      await expect(busyFor('other')).resolves.toBeGreaterThan(1_000);
    });

    it('gives the same run to the same token even when its lease has lapsed meanwhile', async () => {
      const short = await jobs.harness.withLease(jobs.tubeName, 30);
      const request = copy({ attempts: 1 });
      const [first] = await short.claim([request]);
      await jobs.harness.until(short, short.now() + 40);
      await expect(short.claim([request])).resolves.toEqual([first]);
    });

    it('returns how long the lease of a busy job lasts and how long it has run', async () => {
      await run();
      await pass(30);
      const answer = await claim({ token: 'b' });
      expect(answer.kind).toBe('busy');
      if (answer.kind !== 'busy') return;
      expectAbout(answer.ms, SETTINGS.lease - 30);
      expect(answer.ranFor).toBeGreaterThanOrEqual(29);
    });

    it('lets another run when the lease has lapsed, and counts the crash', async () => {
      const short = await jobs.harness.withLease(jobs.tubeName, 30);
      const [first] = await short.claim([copy()]);
      await jobs.harness.until(short, short.now() + 40);
      const [second] = await short.claim([copy({ token: 'b' })]);
      expect(second).toMatchObject({ kind: 'run', attempt: 2 });
      expect(fenceOf(second)).toBeGreaterThan(fenceOf(first));
    });

    it('spares a run whose lease ended since a given time, and no other', async () => {
      const short = await jobs.harness.withLease(jobs.tubeName, 30);
      const before = short.now() - 1_000;
      await short.claim([copy(), copy({ id: 'other' })]);
      await jobs.harness.until(short, short.now() + 40);
      const later = copy({ token: 'b' });
      const spared = { kind: 'busy', ms: 1_000, ranFor: expect.any(Number) };
      await expect(short.claim([later, copy({ id: 'new' })], { sparedFrom: before })).resolves.toEqual([
        spared,
        expect.objectContaining({ kind: 'run', attempt: 1 }),
      ]);
      await expect(short.claim([later], { sparedFrom: 0 })).resolves.toEqual([spared]);
      await expect(short.claim([later], { sparedFrom: short.now() })).resolves.toMatchObject([
        { kind: 'run', attempt: 2 },
      ]);
      await expect(short.claim([copy({ id: 'other' })], { sparedFrom: 0 })).resolves.toMatchObject([
        { kind: 'run' },
      ]);
    });

    it('makes fences of microseconds, exact to the last digit', async () => {
      const ref = await run();
      expect(Number.isSafeInteger(ref.fence)).toBe(true);
      expect(Math.abs(ref.fence / 1_000 - jobs.tube.now())).toBeLessThan(5_000);
      await expect(extend({ ...ref, fence: ref.fence - 1 })).resolves.toBe('refused');
      await expect(extend({ ...ref, fence: ref.fence + 1 })).resolves.toBe('refused');
      await expect(extend(ref)).resolves.toBe('ok');
    });

    it('makes a greater fence each time, within the same microsecond too', async () => {
      const first = await run();
      await complete(first, { kind: 'back' });
      const second = await run({ token: 'b' });
      expect(second.fence).toBeGreaterThan(first.fence);
    });

    it('makes a greater fence although the clock went back', async () => {
      await complete(await run(), { kind: 'back' });
      const fence = (nowMs() + MINUTE) * 1_000 + 999;
      await jobs.harness.overwrite(jobs.tubeName, 'job', { fence });
      await expect(claim({ token: 'b' })).resolves.toMatchObject({ kind: 'run', fence: fence + 1 });
    });

    it('makes a greater fence after everything was wiped', async () => {
      // A plain job's first run, and one of a later generation.
      for (const generation of [0, nowMs() - MINUTE]) {
        const job = { generation, born: generation };
        const first = await run(job);
        await pass(1);
        await jobs.harness.wipe();
        const second = await run({ ...job, token: 'b' });
        expect(second.fence).toBeGreaterThan(first.fence);
        await expect(complete(first, { kind: 'done' })).resolves.toBe('refused');
        await expect(complete(second, { kind: 'done' })).resolves.toBe('ok');
        await jobs.harness.wipe();
      }
    });

    it('answers gone to copies of a job that is done', async () => {
      await done(await run());
      await expect(claim({ token: 'b' })).resolves.toEqual({ kind: 'gone' });
    });

    it('makes a dead letter of a job whose attempts are used up, and says so once', async () => {
      const ref = await run({ attempts: 1 });
      await complete(ref, { kind: 'retry', due: nowMs() - 1_000 });
      await expect(claim({ attempts: 1, token: 'b' })).resolves.toEqual({ kind: 'dead', fresh: true });
      await expect(claim({ attempts: 1, token: 'c' })).resolves.toEqual({ kind: 'dead', fresh: false });
      await expect(letter()).resolves.toMatchObject({ why: 'attempts' });
    });

    it('refuses whatever the last runner of such a job still sends', async () => {
      const short = await jobs.harness.withLease(jobs.tubeName, 30);
      const request = copy({ attempts: 1 });
      const [first] = await short.claim([request]);
      await jobs.harness.until(short, short.now() + 40);
      await expect(short.claim([{ ...request, token: 'b' }])).resolves.toEqual([
        { kind: 'dead', fresh: true },
      ]);
      const ref = runOf(request, first);
      await expect(done(ref)).resolves.toBe('refused');
    });

    it('does not run a job that is overdue by more than staleAfter, once its record is gone', async () => {
      const due = nowMs() - SETTINGS.staleAfter - 1_000;
      await expect(claim({ due })).resolves.toEqual({ kind: 'stale' });
      await expect(claim({ due, token: 'b' })).resolves.toEqual({ kind: 'dead', fresh: false });
      await expect(letter()).resolves.toMatchObject({ why: 'stale' });
    });

    it('does not run it either while its key is being added again', async () => {
      const next = await opened({ due: nowMs() + MINUTE });
      const due = nowMs() - SETTINGS.staleAfter - 1_000;
      await expect(claim({ generation: due, due })).resolves.toEqual({ kind: 'stale' });
      await expect(commit(next)).resolves.toMatchObject({ kind: 'committed' });
    });

    it('runs a job that is overdue by just less', async () => {
      await expect(claim({ due: nowMs() - SETTINGS.staleAfter + MINUTE })).resolves.toMatchObject({
        kind: 'run',
      });
    });

    it('does not call a job stale that has a record', async () => {
      const due = nowMs() - SETTINGS.staleAfter + MINUTE;
      await complete(await run({ due }), { kind: 'back' });
      await expect(claim({ due: due - 2 * MINUTE, token: 'b' })).resolves.toMatchObject({ kind: 'run' });
    });

    async function busyFor(token: string): Promise<number> {
      const answer = await claim({ token });
      if (answer.kind !== 'busy') throw new Error(`expected busy, got ${answer.kind}`);
      return answer.ms;
    }
  });

  describe('claim of a newer generation', () => {
    it('waits while its commit may still come, and asks again soon', async () => {
      await complete(await run(), { kind: 'back' });
      const generation = nowMs();
      await expect(claim({ generation })).resolves.toEqual({ kind: 'wait', ms: expect.any(Number) });
      const young = await claim({ generation });
      if (young.kind === 'wait') {
        expect(young.ms).toBeGreaterThanOrEqual(20);
        expect(young.ms).toBeLessThanOrEqual(500);
      }
      await expect(claim({ generation: nowMs() - 5_000 })).resolves.toEqual({ kind: 'wait', ms: 500 });
    });

    it('does not ask all the time for one that the clock has not reached', async () => {
      await expect(claim({ generation: nowMs() + 3_600_000 })).resolves.toEqual({ kind: 'wait', ms: 500 });
    });

    it('waits for it without any record too', async () => {
      await expect(claim({ generation: nowMs() - 5_000 })).resolves.toEqual({ kind: 'wait', ms: 500 });
      await expect(forgottenIn()).resolves.toBeUndefined();
    });

    it('commits it by running it, so that a lost commit loses no job', async () => {
      const first = await run();
      await complete(first, { kind: 'retry', due: nowMs() + MINUTE });
      const generation = nowMs() - OLD;
      const second = await run({ generation, token: 'b' });
      expect(second).toMatchObject({ attempt: 1 });
      expect(second.fence).toBeGreaterThan(first.fence);
      await expect(claim({ token: 'c' })).resolves.toEqual({ kind: 'gone' });
      await expect(claim({ generation, token: 'c' })).resolves.toMatchObject({ kind: 'busy' });
      await expect(done(second)).resolves.toBe('ok');
      await expect(claim({ generation, token: 'c' })).resolves.toEqual({ kind: 'gone' });
    });

    it('runs it although an older one is done', async () => {
      await done(await run());
      await expect(claim({ generation: nowMs() - OLD, token: 'b' })).resolves.toMatchObject({
        kind: 'run',
        attempt: 1,
      });
    });

    it('holds it back while an older one runs', async () => {
      await run();
      await expect(claim({ generation: nowMs() - OLD, token: 'b' })).resolves.toMatchObject({
        kind: 'busy',
      });
    });

    it('waits until it is due', async () => {
      const generation = nowMs() - OLD;
      await expect(claim({ generation, due: nowMs() + MINUTE })).resolves.toMatchObject({ kind: 'wait' });
    });

    it('refuses it if a revoke came after it was opened', async () => {
      await complete(await run(), { kind: 'retry', due: nowMs() + MINUTE });
      await jobs.revokeKey();
      await expect(claim({ generation: nowMs() - OLD })).resolves.toEqual({ kind: 'gone' });
    });
  });
});

function fenceOf(answer: ClaimAnswer | undefined): number {
  if (answer?.kind !== 'run') throw new Error(`expected a run, got ${answer?.kind}`);
  return answer.fence;
}
