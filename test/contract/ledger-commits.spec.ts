// Keys: what a commit decides, and when it is refused.
import { describe, expect, it } from '@jest/globals';
import { SETTINGS } from './ledger-harness.js';
import { adding, everyLedger, expectAbout, KEPT, MINUTE, NONE, OLD, placesOf } from './ledger-jobs.js';

everyLedger((jobs) => {
  const { abort, add, claim, commit, done, find, complete, forgottenIn } = jobs;
  const { letter, nowMs, opened, revokeKey, run, settle } = jobs;

  describe('commit', () => {
    it('decides which generation runs', async () => {
      const first = await add({ due: nowMs() + MINUTE });
      await expect(claim({ generation: first })).resolves.toMatchObject({ kind: 'wait' });
      const second = await opened();
      await expect(claim({ generation: second })).resolves.toMatchObject({ kind: 'wait' });
      await expect(commit(second)).resolves.toMatchObject({
        kind: 'committed',
        replaced: { state: 'waiting', generation: first },
      });
      await expect(claim({ generation: first })).resolves.toEqual({ kind: 'gone' });
      await expect(claim({ generation: second })).resolves.toMatchObject({ kind: 'run', attempt: 1 });
    });

    describe('of a generation whose opening Redis has lost', () => {
      /** A claim may have decided about it, and Redis has lost that, too. */
      const decided = { undecidedUntil: 0 };
      const lost = () => nowMs() - OLD;

      it('counts as long as no claim can have decided otherwise', async () => {
        const generation = lost();
        await expect(commit(generation)).resolves.toEqual({ kind: 'committed' });
        await expect(claim({ generation })).resolves.toMatchObject({ kind: 'run' });
      });

      it.each([
        ['alone', () => Promise.resolve()],
        ['with an older one that runs', () => run({ generation: nowMs() - 2 * OLD })],
        ['with a newer one that was opened', () => opened({ due: nowMs() + MINUTE })],
      ])('is refused from then on, and never runs: %s', async (_what, happens) => {
        const generation = lost();
        await happens();
        await expect(commit(generation, decided)).resolves.toEqual({ kind: 'forgotten' });
        await expect(claim({ generation, token: 'b' })).resolves.toEqual({ kind: 'gone' });
        await expect(commit(generation)).resolves.toMatchObject({ kind: 'refused', why: 'changed' });
      });

      it('leaves the job alone that is there', async () => {
        const older = nowMs() - 2 * OLD;
        await run({ generation: older });
        await commit(lost(), decided);
        await expect(find()).resolves.toMatchObject({ state: 'running', generation: older });
      });

      it('is no matter for those that are open, however many', async () => {
        const generations = [await opened(), await opened(), await opened()];
        for (const generation of generations) {
          await expect(commit(generation, decided)).resolves.toMatchObject({ kind: 'committed' });
        }
      });

      it('is no matter where a claim has committed it', async () => {
        const generation = lost();
        await run({ generation });
        await expect(commit(generation, decided)).resolves.toEqual({ kind: 'committed', already: true });
      });
    });

    it('answers the same to a repeat, whatever became of it, except for what it replaced', async () => {
      await add();
      const generation = await opened();
      await commit(generation);
      const again = await commit(generation);
      expect(again).toEqual({ kind: 'committed', already: true });
      await done(await run({ generation }));
      await expect(commit(generation)).resolves.toEqual({ kind: 'committed', already: true });
      await expect(claim({ generation, token: 'b' })).resolves.toEqual({ kind: 'gone' });
    });

    it('resets the attempts of a job that waited for a retry, at the new time', async () => {
      const first = await run({ generation: await add() });
      await complete(first, { kind: 'retry', due: nowMs() + MINUTE });
      const due = nowMs() - 500;
      const generation = await add({ due });
      const second = await run({ generation, due: due - 9_000 });
      expect(second).toMatchObject({ attempt: 1, due });
      expect(second.fence).toBeGreaterThan(first.fence);
    });

    it('rounds the time up to whole milliseconds', async () => {
      await add({ due: 1_000.25 });
      await expect(find()).resolves.toMatchObject({ due: 1_001 });
    });

    it('shows everybody where the copies are', async () => {
      const generation = await add({ places: placesOf('one') });
      await expect(find()).resolves.toMatchObject({ generation, places: placesOf('one') });
      await commit(generation, { places: placesOf('two') });
      await expect(find()).resolves.toMatchObject({ places: placesOf('two') });
    });

    it('lets copies be forgotten that were never stored', async () => {
      const generation = await opened();
      await commit(generation, { owed: { mask: 0b011, unknown: false } });
      await complete(await run({ generation }), { kind: 'done' }, NONE);
      expectAbout(await forgottenIn(), KEPT);
      await settle(0b011, { generation });
      expectAbout(await forgottenIn(), SETTINGS.doneTtl);
    });

    it('does not forget a copy of unknown fate', async () => {
      const generation = await opened();
      await commit(generation, { owed: { mask: 0b011, unknown: true } });
      await done(await run({ generation }));
      await settle(0b011, { generation });
      expectAbout(await forgottenIn(), KEPT);
    });

    it('still owes the copies of the generation that it replaced', async () => {
      const first = await add();
      const second = await add();
      await done(await run({ generation: second }));
      await settle(0b111, { generation: second });
      expectAbout(await forgottenIn(), KEPT);
      await settle(0b111, { generation: first });
      expectAbout(await forgottenIn(), SETTINGS.doneTtl);
    });

    it('is refused once a newer generation was committed, and names that generation', async () => {
      const older = await opened();
      const newer = await opened();
      await commit(newer);
      await expect(commit(older)).resolves.toMatchObject({
        kind: 'refused',
        why: 'changed',
        present: { generation: newer },
      });
      await expect(claim({ generation: older })).resolves.toEqual({ kind: 'gone' });
      await expect(claim({ generation: newer })).resolves.toMatchObject({ kind: 'run' });
    });

    it('is refused by a revoke that came after the opening', async () => {
      const generation = await opened();
      await expect(revokeKey()).resolves.toBe('revoked');
      await expect(commit(generation)).resolves.toMatchObject({ kind: 'refused', why: 'revoked' });
      await expect(claim({ generation })).resolves.toEqual({ kind: 'gone' });
      await expect(commit(await opened())).resolves.toMatchObject({ kind: 'committed' });
    });

    it.each(['keep', 'reject'] as const)(
      'is refused by %s if another came before, and gives up',
      async (how) => {
        const [first, second] = [
          await opened({ opening: adding(how) }),
          await opened({ opening: adding(how) }),
        ];
        await commit(first, { opening: adding(how) });
        await expect(commit(second, { opening: adding(how) })).resolves.toMatchObject({
          kind: 'refused',
          why: 'taken',
          present: { generation: first, state: 'waiting' },
        });
        // Not to wait: no claim may adopt it later.
        await expect(claim({ generation: second })).resolves.toEqual({ kind: 'gone' });
        await expect(commit(second)).resolves.toMatchObject({ kind: 'refused', why: 'changed' });
        await expect(claim({ generation: first })).resolves.toMatchObject({ kind: 'run' });
      },
    );

    it('finds it committed by a claim, and says where the copies are', async () => {
      await add();
      const generation = nowMs() - OLD;
      await jobs.harness.wipe();
      await run({ generation });
      await expect(commit(generation, { places: placesOf('n') })).resolves.toEqual({
        kind: 'committed',
        already: true,
      });
      await expect(find()).resolves.toMatchObject({ state: 'running', generation, places: placesOf('n') });
    });

    it('that comes late, and after a newer one, knows that a claim may have been faster', async () => {
      const generation = nowMs() - OLD;
      await done(await run({ generation }));
      const newer = await add();
      await expect(commit(generation)).resolves.toMatchObject({
        kind: 'refused',
        why: 'overtaken',
        present: { generation: newer },
      });
      // No claim took a generation that was given up in time.
      const givenUp = newer - OLD;
      await jobs.harness.wipe();
      await abort(givenUp);
      await expect(commit(givenUp)).resolves.toMatchObject({ kind: 'refused', why: 'changed' });
    });

    it('decides although the record was lost since the opening', async () => {
      const first = await add({ due: nowMs() + MINUTE });
      const opening = { by: 'move', expected: first } as const;
      const second = await opened({ opening });
      await jobs.harness.wipe();
      await expect(commit(second, { opening, born: first })).resolves.toEqual({ kind: 'committed' });
      await expect(claim({ generation: first })).resolves.toEqual({ kind: 'gone' });
      await expect(claim({ generation: second, born: first })).resolves.toMatchObject({ kind: 'run' });
    });

    it('takes over a key whose job is done, revoked or dead, and leaves the dead letter', async () => {
      const first = await run({ generation: await add() });
      await complete(first, { kind: 'dead', death: { why: 'discarded' }, places: [] });
      const generation = await opened();
      const answer = await commit(generation);
      expect(answer).toEqual({ kind: 'committed' });
      await expect(letter({ born: first.born })).resolves.toMatchObject({ generation: first.generation });
      await expect(claim({ generation: first.generation, token: 'b' })).resolves.toEqual({ kind: 'gone' });
      await done(await run({ generation }));
      expectAbout(await forgottenIn(), KEPT);
    });
  });
});
