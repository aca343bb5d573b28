// Ledger answers for people who look: who had a job last, and how many jobs are dead.
import { describe, expect, it } from '@jest/globals';
import { everyLedger, MINUTE, placesOf } from './ledger-jobs.js';
import { SETTINGS } from './ledger-harness.js';

everyLedger((jobs) => {
  const { add, complete, copy, done, find, nowMs, opened, run } = jobs;

  const DEAD = { kind: 'dead', death: { why: 'discarded' }, places: placesOf('n') } as const;
  const trace = async (id = 'job') => {
    const [answer] = await jobs.tube.ask('trace', [id]);
    return answer;
  };
  const deaths = async (since: number) => {
    const [count] = await jobs.tube.ask('deaths', [{ since }]);
    return count;
  };

  describe('the trace', () => {
    it('of a job without a record, or without a committed generation, is none', async () => {
      expect(await trace()).toBeUndefined();
      await opened();
      expect(await trace()).toBeUndefined();
    });

    it('is what find returns, without a run, for a waiting job', async () => {
      await add({ due: nowMs() + MINUTE, places: placesOf('n') });
      const none = { fence: 0, leaseEnd: 0, left: false, holdEnd: 0 };
      expect(await trace()).toEqual({ ...(await find()), ...none });
    });

    it('shows when the ongoing run began, and when its lease ends', async () => {
      const { fence } = await run();
      const { state, leaseEnd, ...rest } = (await trace())!;
      expect([state, rest.fence, rest.left]).toEqual(['running', fence, false]);
      expect(leaseEnd).toBe(Math.floor(fence / 1_000) + SETTINGS.lease);
    });

    it('has the fence of the last run, and no lease, when it is over', async () => {
      const ref = await run();
      await complete(ref, { kind: 'retry', due: nowMs() + MINUTE });
      expect(await trace()).toMatchObject({
        state: 'waiting',
        attempt: 1,
        fence: ref.fence,
        leaseEnd: 0,
        left: false,
      });
    });

    it('says that a run was left, once its lease is over', async () => {
      const brief = await jobs.harness.withLease(jobs.tubeName, 50);
      await brief.claim([copy()]);
      const { leaseEnd } = (await trace())!;
      await jobs.harness.until(jobs.tube, leaseEnd);
      expect(await trace()).toMatchObject({ state: 'waiting', attempt: 1, leaseEnd, left: true });
    });

    it('says so, too, of the last run of a job that was revoked', async () => {
      const brief = await jobs.harness.withLease(jobs.tubeName, 50);
      await brief.claim([copy()]);
      await jobs.revoke();
      const { leaseEnd } = (await trace())!;
      await jobs.harness.until(jobs.tube, leaseEnd);
      expect(await trace()).toMatchObject({ state: 'revoked', left: true });
    });

    it('says until when a job waits for the run of the one that it replaced', async () => {
      await add();
      const generation = await find();
      await run({ generation: generation!.generation });
      const { leaseEnd } = (await trace())!;
      await add({ due: nowMs() + MINUTE });
      expect(await trace()).toMatchObject({ state: 'waiting', holdEnd: leaseEnd, leaseEnd: 0, left: false });
    });

    it('changes nothing', async () => {
      await run();
      const before = [await find(), await jobs.size()];
      await trace();
      expect([await find(), await jobs.size()]).toEqual(before);
    });
  });

  describe('the number of deaths', () => {
    it('counts the letters since an instant', async () => {
      expect(await deaths(0)).toBe(0);
      await complete(await run({ id: 'a' }), DEAD);
      await jobs.pass(5);
      await complete(await run({ id: 'b' }), DEAD);
      await done(await run({ id: 'c' }));
      const [letter] = await jobs.tube.letter([{ id: 'b', born: 0 }]);
      expect(await deaths(0)).toBe(2);
      expect(await deaths(letter!.died)).toBe(1);
      expect(await deaths(letter!.died + 1)).toBe(0);
    });

    it('does not count the letters of another tube', async () => {
      await complete(await run(), DEAD);
      const [count] = await jobs.harness.tube(`${jobs.tubeName}2`).ask('deaths', [{ since: 0 }]);
      expect(count).toBe(0);
    });
  });
});
