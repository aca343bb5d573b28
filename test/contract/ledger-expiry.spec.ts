// How long a record is kept: for as long as a copy may be left that would ask for it.
import { describe, expect, it } from '@jest/globals';
import { SETTINGS } from './ledger-harness.js';
import { everyLedger, expectAbout, KEPT, MINUTE, NONE, OLD } from './ledger-jobs.js';

everyLedger((jobs) => {
  const { claim, copy, done, complete, forgottenIn, letter, nowMs, revoke, run, settle } = jobs;

  describe('the record', () => {
    it('of a run is kept for the longest time', async () => {
      await run();
      expectAbout(await forgottenIn(), SETTINGS.lease + KEPT);
    });

    it('of a stale copy lets no stale copy of a newer generation run', async () => {
      const due = nowMs() - SETTINGS.staleAfter - 1_000;
      const moved = { generation: due - 2_000, born: 0, due: due + 500, token: 'b' };
      const anew = { generation: due - 1_000, born: due - 1_000, due: due + 500, token: 'c' };
      await expect(claim({ due })).resolves.toEqual({ kind: 'stale' });
      await expect(claim(moved)).resolves.toEqual({ kind: 'stale' });
      await expect(letter()).resolves.toMatchObject({ why: 'stale', generation: moved.generation });
      await jobs.tube.discard([{ id: 'job', born: 0 }]);
      await expect(claim(anew)).resolves.toEqual({ kind: 'stale' });
      await expect(claim({ ...moved, token: 'd' })).resolves.toEqual({ kind: 'gone' });
    });

    it('is forgotten soon after the end once every copy is settled, and not before', async () => {
      await done(await run());
      expectAbout(await forgottenIn(), KEPT);
      await settle(0b011);
      expectAbout(await forgottenIn(), KEPT);
      await settle(0b100);
      expectAbout(await forgottenIn(), SETTINGS.doneTtl);
    });

    it('is kept while a copy of unknown fate may exist, whatever is settled', async () => {
      await complete(await run(), { kind: 'done' }, { mask: 0b11, unknown: true });
      await settle(0b11);
      expectAbout(await forgottenIn(), KEPT);
    });

    it('learns of a copy of unknown fate from a settle', async () => {
      await done(await run());
      await settle(0b111, { unknown: true });
      expectAbout(await forgottenIn(), KEPT);
      await settle(0b111);
      expectAbout(await forgottenIn(), KEPT);
    });

    it('does not forget it when a run ends that does not know of it', async () => {
      await complete(await run(), { kind: 'retry', due: nowMs() - 1_000 });
      await settle(0b001, { unknown: true });
      await done(await run({ token: 'b' }));
      await settle(0b111);
      expectAbout(await forgottenIn(), KEPT);
    });

    it('learns of one of another generation too', async () => {
      await complete(await run(), { kind: 'done' }, NONE);
      expectAbout(await forgottenIn(), SETTINGS.doneTtl);
      await settle(0b1, { generation: 7 });
      expectAbout(await forgottenIn(), SETTINGS.doneTtl);
      await settle(0b1, { generation: 7, unknown: true });
      expectAbout(await forgottenIn(), KEPT);
    });

    it('is settled along with claims', async () => {
      await done(await run());
      await jobs.tube.claim([copy({ id: 'next' })], {
        settled: [{ id: 'job', generation: 0, mask: 0b111, unknown: false }],
      });
      expectAbout(await forgottenIn(), SETTINGS.doneTtl);
      await jobs.tube.claim([], { settled: [{ id: 'job', generation: 0, mask: 0b111, unknown: true }] });
      expectAbout(await forgottenIn(), KEPT);
    });

    it('is not made by a settle', async () => {
      await settle(0b1, { unknown: true });
      await expect(forgottenIn()).resolves.toBeUndefined();
    });

    it('of a retry is kept until long after it is due', async () => {
      await complete(await run(), { kind: 'retry', due: nowMs() + 5 * MINUTE });
      expectAbout(await forgottenIn(), 5 * MINUTE + KEPT);
    });

    it('does not take copies back that were settled before the run ended', async () => {
      const ref = await run();
      await revoke();
      await settle(0b111 & ~0b001);
      await done(ref);
      expectAbout(await forgottenIn(), MINUTE + KEPT);
      await settle(0b001);
      expectAbout(await forgottenIn(), SETTINGS.doneTtl);
    });

    it('of a revoked job is kept until its copies are settled, or long after they come due', async () => {
      await revoke({ due: nowMs() + 30 * MINUTE });
      expectAbout(await forgottenIn(), 30 * MINUTE + KEPT);
      await settle(0b111);
      expectAbout(await forgottenIn(), SETTINGS.doneTtl);
    });

    it('of a job that was revoked too late is kept as well', async () => {
      await expect(revoke({ due: nowMs() - SETTINGS.doneTtl - 1_000 })).resolves.toBe('unknown');
      expectAbout(await forgottenIn(), KEPT);
      await settle(0b111);
      expectAbout(await forgottenIn(), SETTINGS.doneTtl);
    });

    it('of a revoke of which no copy can be left is forgotten soon', async () => {
      await revoke({ owed: NONE });
      expectAbout(await forgottenIn(), SETTINGS.doneTtl);
    });

    it('of a newer generation still owes the copies of the older', async () => {
      const first = await run();
      await complete(first, { kind: 'retry', due: nowMs() - 1_000 });
      const generation = nowMs() - OLD;
      const second = await run({ generation, token: 'b' });
      await complete(second, { kind: 'done' });
      await settle(0b111, { generation });
      expectAbout(await forgottenIn(), KEPT);
      await settle(0b111);
      expectAbout(await forgottenIn(), SETTINGS.doneTtl);
    });
  });
});
