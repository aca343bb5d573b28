// Runs: what the ledger takes from a run. Facts about every ledger, like those in the other ledger-*.spec.ts.
import { describe, expect, it } from '@jest/globals';
import { SETTINGS } from './ledger-harness.js';
import { everyLedger, expectAbout, MINUTE, runOf, THREE } from './ledger-jobs.js';

everyLedger((jobs) => {
  const { claim, copy, done, extend, complete, find, forgottenIn, letter, nowMs, opened, pass, run } = jobs;

  describe('complete', () => {
    it('is idempotent', async () => {
      const ref = await run();
      await expect(done(ref)).resolves.toBe('ok');
      await expect(done(ref)).resolves.toBe('ok');
      await expect(complete(ref, { kind: 'retry', due: nowMs() })).resolves.toBe('ok');
      await expect(claim({ token: 'b' })).resolves.toEqual({ kind: 'gone' });
    });

    it('retries at the given time, and returns that time to the run', async () => {
      const ref = await run();
      const due = nowMs() + 30;
      await expect(complete(ref, { kind: 'retry', due })).resolves.toBe('ok');
      const early = await claim({ token: 'b' });
      if (early.kind === 'wait') await pass(early.ms + 30);
      await expect(claim({ token: 'b' })).resolves.toMatchObject({ kind: 'run', attempt: 2, due });
    });

    it('rounds a retry up to whole milliseconds', async () => {
      const ref = await run();
      const due = nowMs() - 1_000 + 0.25;
      await complete(ref, { kind: 'retry', due });
      await expect(claim({ token: 'b' })).resolves.toMatchObject({ kind: 'run', due: Math.ceil(due) });
    });

    it('gives an attempt back, and the job is due at once', async () => {
      const ref = await run();
      await expect(complete(ref, { kind: 'back' })).resolves.toBe('ok');
      await expect(claim({ token: 'b' })).resolves.toMatchObject({ kind: 'run', attempt: 1 });
    });

    it('keeps the due time of a run that is handed back, however often', async () => {
      const due = nowMs() - 3_000;
      for (const token of ['a', 'b', 'c']) {
        const ref = await run({ due, token });
        expect([ref.due, ref.attempt]).toEqual([due, 1]);
        await complete(ref, { kind: 'back' });
        await expect(find()).resolves.toMatchObject({ state: 'waiting', due, attempt: 0 });
      }
    });

    it('keeps the time of a retry that is handed back, and that of a later occurrence', async () => {
      const due = nowMs() - 2_000;
      await complete(await run({ due: due - 1_000 }), { kind: 'retry', due });
      const second = await run({ due: due - 1_000, token: 'b' });
      await complete(second, { kind: 'back' });
      const third = await run({ due: due - 1_000, token: 'c' });
      expect([second.due, third.due]).toEqual([due, due]);

      const generation = await opened({ opening: { by: 'again', run: third } });
      const later = { due: due + 1_000, announced: THREE.mask, owed: THREE, places: [] };
      await complete(third, { kind: 'later', generation, ...later });
      await complete(await run({ due: due - 1_000, token: 'd' }), { kind: 'back' });
      await expect(run({ due: due - 1_000, token: 'e' })).resolves.toMatchObject({ due: due + 1_000 });
    });

    it('keeps the due time when the lease of a run lapses, and over a pause', async () => {
      const due = nowMs() - 3_000;
      const short = await jobs.harness.withLease(jobs.tubeName, 30);
      const [lapsed] = await short.claim([copy({ due })]);
      await jobs.harness.until(short, short.now() + 40);
      const second = await run({ due, token: 'b' });
      await complete(second, { kind: 'back' });
      await jobs.tube.pause();
      await expect(claim({ due, token: 'c' })).resolves.toMatchObject({ kind: 'paused' });
      await jobs.tube.resume();
      const third = await run({ due, token: 'c' });
      expect(lapsed).toMatchObject({ due });
      expect([second.due, third.due]).toEqual([due, due]);
    });

    it('gives no more attempts back than were counted', async () => {
      const ref = await run();
      await expect(complete(ref, { kind: 'back' })).resolves.toBe('ok');
      await expect(complete(ref, { kind: 'back' })).resolves.toBe('ok');
      await jobs.harness.wipe();
      await expect(complete({ ...ref, attempt: 0 }, { kind: 'back' })).resolves.toBe('ok');
      await expect(claim({ token: 'b' })).resolves.toMatchObject({ kind: 'run', attempt: 1 });
    });

    it('keeps why a job is dead, forever, and lists it', async () => {
      const error = { name: 'PaymentError', message: 'no card “42”\n', stack: `at ${'x'.repeat(5_000)}` };
      const ref = await run();
      await expect(
        complete(ref, { kind: 'dead', death: { why: 'discarded', error }, places: [] }),
      ).resolves.toBe('ok');
      await expect(claim({ token: 'b' })).resolves.toEqual({ kind: 'dead', fresh: false });
      const kept = await letter();
      expect(kept).toMatchObject({ why: 'discarded', error: { name: error.name, message: error.message } });
      expectAbout(kept?.died, jobs.tube.now());
      await expect(forgottenIn()).resolves.toBe(Infinity);
    });

    it('is refused once another run has taken over', async () => {
      const short = await jobs.harness.withLease(jobs.tubeName, 30);
      const [first] = await short.claim([copy()]);
      await jobs.harness.until(short, short.now() + 40);
      const second = await run({ token: 'b' });
      const late = { ...second, fence: runOf(copy(), first).fence, attempt: 1 };
      await expect(done(late)).resolves.toBe('refused');
      await expect(extend(late)).resolves.toBe('refused');
      await expect(done(second)).resolves.toBe('ok');
    });

    it('is accepted without a record while the last OK is young, and remembered', async () => {
      const ref = await run();
      await jobs.harness.wipe();
      await expect(done(ref)).resolves.toBe('ok');
      await expect(claim({ token: 'b' })).resolves.toEqual({ kind: 'gone' });
    });

    it('lets a retry survive the loss of its record', async () => {
      const ref = await run();
      await jobs.harness.wipe();
      await expect(complete(ref, { kind: 'retry', due: nowMs() + MINUTE })).resolves.toBe('ok');
      await expect(claim({ token: 'b' })).resolves.toMatchObject({ kind: 'wait' });
      await expect(done({ ...ref, fence: ref.fence - 1 })).resolves.toBe('refused');
      await jobs.harness.wipe();
      await complete(ref, { kind: 'retry', due: nowMs() - 1_000 });
      const again = await run({ token: 'b' });
      expect(again.attempt).toBe(2);
      expect(again.fence).toBeGreaterThan(ref.fence);
    });

    it('is refused without a record once the last OK is older than an end is remembered', async () => {
      const ref = await run();
      await jobs.harness.wipe();
      const old = { ...ref, lastOk: jobs.tube.now() - SETTINGS.doneTtl - 5 };
      await expect(done(old)).resolves.toBe('refused');
      await expect(extend(old)).resolves.toBe('refused');
      await expect(forgottenIn()).resolves.toBeUndefined();
    });
  });

  describe('extend', () => {
    it('renews the lease', async () => {
      const short = await jobs.harness.withLease(jobs.tubeName, 1_000);
      const request = copy();
      const [answer] = await short.claim([request]);
      await expect(extend(runOf(request, answer))).resolves.toBe('ok');
      const busy = await claim({ token: 'b' });
      if (busy.kind === 'busy') expectAbout(busy.ms, SETTINGS.lease);
      expect(busy).toMatchObject({ kind: 'busy' });
    });

    it('renews a lapsed lease that nobody has taken over', async () => {
      const short = await jobs.harness.withLease(jobs.tubeName, 30);
      const request = copy();
      const [answer] = await short.claim([request]);
      await jobs.harness.until(short, short.now() + 40);
      const ref = runOf(request, answer);
      await expect(extend(ref)).resolves.toBe('ok');
      await expect(claim({ token: 'b' })).resolves.toMatchObject({ kind: 'busy' });
    });

    it('is refused once the run has ended', async () => {
      const ref = await run();
      await done(ref);
      await expect(extend(ref)).resolves.toBe('refused');
    });

    it('recreates a lost record, so that nobody else starts', async () => {
      const ref = await run();
      await jobs.harness.wipe();
      await expect(extend(ref)).resolves.toBe('ok');
      await expect(claim({ token: 'b' })).resolves.toMatchObject({ kind: 'busy' });
      await expect(complete(ref, { kind: 'retry', due: nowMs() - 1_000 })).resolves.toBe('ok');
      await expect(claim({ token: 'b' })).resolves.toMatchObject({ kind: 'run', attempt: 2 });
    });
  });

  it('fails all calls once it is closed', async () => {
    await jobs.harness.close();
    await expect(claim()).rejects.toMatchObject({ code: 'DQ_CLOSED' });
    await expect(jobs.tube.readTime()).rejects.toMatchObject({ code: 'DQ_CLOSED' });
    await jobs.harness.close();
  });

  it('is not away while it answers', () => {
    expect(jobs.tube.away).toBe(false);
  });
});
