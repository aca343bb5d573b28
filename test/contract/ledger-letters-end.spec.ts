// Ends of a dead letter: a discard, a revival or a newer job of its key; and what does not end it.
import { describe, expect, it } from '@jest/globals';
import type { BuriedRequest, Death, LetterPage } from 'nest-dq/src/ledger/requests.js';
import { SETTINGS } from './ledger-harness.js';
import {
  adding,
  everyLedger,
  expectAbout,
  KEPT,
  MINUTE,
  OLD,
  placesOf,
  runOf,
  THREE,
} from './ledger-jobs.js';

everyLedger((jobs) => {
  const { add, claim, commit, copy, done, find, complete, forgottenIn, letter } = jobs;
  const { nowMs, open, opened, revoke, revokeKey, run, settle } = jobs;

  const reviving = (expected: number) => ({ by: 'revive', expected }) as const;
  const dead = (death: Death = { why: 'discarded' }, places = placesOf('n')) =>
    ({ kind: 'dead', death, places }) as const;
  const list = (over: Partial<LetterPage> = {}) =>
    jobs.tube.letters({ limit: 100, after: undefined, ...over });
  const discard = async (ref: { id?: string; born?: number } = {}) => {
    const [answer] = await jobs.tube.discard([{ id: 'job', born: 0, ...ref }]);
    return answer;
  };
  const buried = async (over: Partial<BuriedRequest> = {}) => {
    const { generation = 0 } = over;
    const [answer] = await jobs.tube.buried([
      { id: 'job', born: generation, generation, places: [], ...over },
    ]);
    return answer;
  };

  /** Kills these jobs in one call, and so in one millisecond. */
  async function die(ids: readonly string[]): Promise<void> {
    const requests = ids.map((id) => copy({ id }));
    const answers = await jobs.tube.claim(requests);
    const runs = requests.map((request, index) => runOf(request, answers[index]));
    await jobs.tube.complete(runs.map((ref) => ({ ...ref, owed: THREE, outcome: dead() })));
  }

  describe('discard', () => {
    it('takes the letter, returns it, and makes the job revoked', async () => {
      await die(['job']);
      await expect(discard()).resolves.toMatchObject({ why: 'discarded', places: placesOf('n') });
      await expect(discard()).resolves.toBeUndefined();
      await expect(list()).resolves.toEqual({ letters: [], more: false });
      await expect(find()).resolves.toMatchObject({ state: 'revoked' });
      await expect(claim({ token: 'b' })).resolves.toEqual({ kind: 'gone' });
      expectAbout(await forgottenIn(), KEPT);
      await settle(0b111);
      expectAbout(await forgottenIn(), SETTINGS.doneTtl);
    });

    it('keeps the record while a copy may be left that a claim had found dead', async () => {
      const due = nowMs() - SETTINGS.staleAfter - 1_000;
      await expect(claim({ due })).resolves.toEqual({ kind: 'stale' });
      await buried({ places: placesOf('n') });
      await expect(discard()).resolves.toMatchObject({ why: 'stale' });
      expectAbout(await forgottenIn(), KEPT);
      await settle(0b111);
      expectAbout(await forgottenIn(), SETTINGS.doneTtl);
    });

    it('keeps the record for the longest time where no run has reported its copies', async () => {
      const lost = await jobs.harness.withLease(jobs.tubeName, 20);
      await lost.claim([copy({ attempts: 1 })]);
      await jobs.pass(40);
      await expect(claim({ token: 'b', attempts: 1 })).resolves.toEqual({ kind: 'dead', fresh: true });
      await buried({ places: placesOf('n').slice(0, 2) });
      await expect(discard()).resolves.toMatchObject({ why: 'attempts' });
      await settle(0b011);
      expectAbout(await forgottenIn(), KEPT);
    });

    it('does not forget a copy of unknown fate', async () => {
      await claim({ due: nowMs() - SETTINGS.staleAfter - 1_000 });
      await buried({ places: [{ index: 1, location: 'n:11300#x:?' }] });
      await discard();
      await settle(0b111);
      expectAbout(await forgottenIn(), KEPT);
    });

    it('leaves the newer job of the key alone', async () => {
      const first = await add();
      await complete(await run({ generation: first }), dead());
      const second = await add();
      await expect(discard({ born: first })).resolves.toMatchObject({ generation: first });
      await expect(claim({ generation: second })).resolves.toMatchObject({ kind: 'run' });
    });

    it('leaves a newer dead job of the key alone', async () => {
      const first = await add();
      await complete(await run({ generation: first }), dead());
      const second = await add();
      await complete(await run({ generation: second }), dead());
      await discard({ born: first });
      await expect(find()).resolves.toMatchObject({ state: 'dead' });
      await expect(list()).resolves.toMatchObject({ letters: [{ born: second }] });
    });

    it('refuses a revival that was opened before', async () => {
      await die(['job']);
      const generation = await opened({ opening: reviving(0) });
      await discard();
      await expect(commit(generation, { opening: reviving(0), born: 0 })).resolves.toMatchObject({
        kind: 'refused',
        why: 'revoked',
      });
      await expect(claim({ generation, born: 0 })).resolves.toEqual({ kind: 'gone' });
    });
  });

  describe('revive', () => {
    it('brings a dead job back with fresh attempts, and takes its letter away', async () => {
      const ref = await run();
      await complete(ref, dead());
      const generation = await opened({ opening: reviving(0) });
      await expect(claim({ token: 'b' })).resolves.toEqual({ kind: 'dead', fresh: false });
      await expect(letter()).resolves.toBeDefined();
      const answer = await commit(generation, { opening: reviving(0), born: 0, places: placesOf('new') });
      expect(answer).toEqual({ kind: 'committed', left: placesOf('n') });
      await expect(letter()).resolves.toBeUndefined();
      await expect(list()).resolves.toEqual({ letters: [], more: false });
      await expect(find()).resolves.toMatchObject({ state: 'waiting', born: 0, places: placesOf('new') });
      await expect(buried()).resolves.toBe('gone');
      await expect(claim({ token: 'b' })).resolves.toEqual({ kind: 'gone' });
      const second = await run({ generation, born: 0 });
      expect(second.attempt).toBe(1);
      expect(second.fence).toBeGreaterThan(ref.fence);
      await done(second);
      await settle(0b111, { generation });
      expectAbout(await forgottenIn(), KEPT);
      await settle(0b111);
      expectAbout(await forgottenIn(), SETTINGS.doneTtl);
    });

    it('is only for dead jobs, and not under a newer schedule', async () => {
      await expect(open({ opening: reviving(0) })).resolves.toEqual({ kind: 'refused', why: 'unknown' });
      const first = await add();
      await expect(open({ opening: reviving(first) })).resolves.toMatchObject({ kind: 'refused' });
      const ref = await run({ generation: first });
      await expect(open({ opening: reviving(first) })).resolves.toMatchObject({ why: 'running' });
      await complete(ref, dead());
      const generation = await opened({ opening: reviving(first) });
      const second = await add();
      await expect(commit(generation, { opening: reviving(first), born: first })).resolves.toMatchObject({
        kind: 'refused',
        why: 'changed',
      });
      await expect(open({ opening: reviving(first) })).resolves.toMatchObject({
        why: 'changed',
        present: { generation: second },
      });
      await expect(letter({ born: first })).resolves.toBeDefined();
    });

    it('that was given up leaves the job dead', async () => {
      await die(['job']);
      const generation = nowMs() - 11_000;
      await jobs.abort(generation);
      await expect(claim({ generation, born: 0, token: 'b' })).resolves.toEqual({ kind: 'gone' });
      await expect(commit(generation, { opening: reviving(0), born: 0 })).resolves.toMatchObject({
        kind: 'refused',
      });
      await expect(find()).resolves.toMatchObject({ state: 'dead' });
    });
  });

  describe('a copy that is about to be buried, or just was', () => {
    it('is dead while there is its letter, also under a newer job of the key', async () => {
      const generation = await add();
      await complete(await run({ generation }), dead());
      await expect(buried({ generation })).resolves.toBe('dead');
      await add();
      await expect(buried({ generation })).resolves.toBe('dead');
      await expect(letter({ born: generation })).resolves.toMatchObject({ places: placesOf('n') });
    });

    it('is gone once the letter was discarded', async () => {
      await die(['job']);
      await discard();
      await expect(buried()).resolves.toBe('gone');
      await expect(letter()).resolves.toBeUndefined();
    });

    it('is gone once the letter under a newer job of the key was discarded', async () => {
      const generation = await add();
      await complete(await run({ generation }), dead());
      await add();
      await discard({ born: generation });
      await expect(buried({ generation })).resolves.toBe('gone');
    });

    it('is gone once the job was revived, and is no copy of the letter if the job dies again', async () => {
      await die(['job']);
      const opening = reviving(0);
      const generation = await opened({ opening });
      await expect(buried()).resolves.toBe('dead');
      await commit(generation, { opening, born: 0 });
      await expect(buried()).resolves.toBe('gone');
      await complete(await run({ generation, born: 0, token: 'b' }), dead(undefined, placesOf('new')));
      await expect(buried({ places: placesOf('old') })).resolves.toBe('gone');
      await expect(letter()).resolves.toMatchObject({ generation, places: placesOf('new') });
    });

    it('is gone once a claim has run what a revival stored', async () => {
      await die(['job']);
      await run({ generation: nowMs() - OLD, born: 0, token: 'b' });
      await expect(buried()).resolves.toBe('gone');
    });

    it('is of an unknown fate where its job is unknown, or not known to be dead', async () => {
      await expect(buried()).resolves.toBe('unknown');
      const ref = await run();
      await expect(buried()).resolves.toBe('unknown');
      await revoke({ born: 0 });
      await expect(buried()).resolves.toBe('unknown');
      await complete(ref, { kind: 'retry', due: nowMs() });
      await expect(buried()).resolves.toBe('gone');
      const generation = await add({ id: 'waiting' });
      await expect(buried({ id: 'waiting', generation })).resolves.toBe('unknown');
      await expect(buried({ id: 'waiting', generation: generation + 1 })).resolves.toBe('unknown');
    });

    it('is batched with others, and each gets its own answer', async () => {
      await die(['a', 'b']);
      await discard({ id: 'b' });
      const asked = ['none', 'a', 'b'].map((id) => ({ id, born: 0, generation: 0, places: [] }));
      await expect(jobs.tube.buried(asked)).resolves.toEqual(['unknown', 'dead', 'gone']);
    });
  });

  describe('a revoke', () => {
    it('leaves a dead job dead, and its copies to be buried', async () => {
      const generation = await add();
      await complete(await run({ generation }), dead());
      await expect(revoke({ born: generation })).resolves.toBe('dead');
      await expect(revokeKey()).resolves.toBe('dead');
      await expect(claim({ generation, token: 'b' })).resolves.toEqual({ kind: 'dead', fresh: false });
      await expect(letter({ born: generation })).resolves.toBeDefined();
      await expect(forgottenIn()).resolves.toBe(Infinity);
    });

    it('of its key stops the add that is on its way', async () => {
      await complete(await run({ generation: await add() }), dead());
      const generation = await opened({ opening: adding(), due: nowMs() + MINUTE, announced: 0 });
      await expect(revokeKey()).resolves.toBe('revoked');
      await expect(commit(generation)).resolves.toMatchObject({ kind: 'refused', why: 'revoked' });
      await expect(find()).resolves.toMatchObject({ state: 'dead' });
    });
  });
});
