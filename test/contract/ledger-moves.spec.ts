// A job that is rescheduled: its id, and what its reference says, stay.
import { describe, expect, it } from '@jest/globals';
import { SETTINGS } from './ledger-harness.js';
import { everyLedger, expectAbout, KEPT, MINUTE, NONE, OLD, placesOf, runOf, THREE } from './ledger-jobs.js';

everyLedger((jobs) => {
  const { abort, claim, commit, copy, done, extend, find, complete, forgottenIn } = jobs;
  const { nowMs, open, opened, revoke, run, settle } = jobs;

  const moving = (expected: number) => ({ by: 'move', expected }) as const;
  const plain = (over: { due?: number; generation?: number; born?: number } = {}) => ({
    generation: 0,
    born: 0,
    due: nowMs() + MINUTE,
    owed: THREE,
    places: placesOf('old'),
    ...over,
  });
  const PENDING = { kind: 'dead', death: { why: 'discarded' }, places: [] } as const;

  describe('a move', () => {
    it('of a plain job without a record takes its reference’s word for it', async () => {
      const due = nowMs() + MINUTE;
      const answer = await open({ opening: moving(0), due: nowMs() - 1_000, known: plain({ due }) });
      const present = { state: 'waiting', born: 0, generation: 0, due, attempt: 0, places: placesOf('old') };
      expect(answer).toEqual({ kind: 'opened', generation: expect.any(Number), present });
      await expect(find()).resolves.toEqual(present);
    });

    it('of a job without a record writes nothing where no copy was seen', async () => {
      await expect(open({ opening: moving(0) })).resolves.toEqual({ kind: 'refused', why: 'unknown' });
      await expect(forgottenIn()).resolves.toBeUndefined();
    });

    it('lets the job run at the new time only, and its reference stays valid', async () => {
      const generation = await opened({ opening: moving(0), known: plain() });
      const answer = await commit(generation, { opening: moving(0), born: 0, places: placesOf('new') });
      expect(answer).toMatchObject({
        kind: 'committed',
        replaced: { generation: 0, places: placesOf('old') },
      });
      await expect(find()).resolves.toMatchObject({ born: 0, generation, places: placesOf('new') });
      await expect(claim()).resolves.toEqual({ kind: 'gone' });
      const ref = await run({ generation, born: 0 });
      await expect(revoke({ born: 0 })).resolves.toBe('running');
      await expect(complete(ref, { kind: 'back' })).resolves.toBe('over');
      await expect(revoke({ born: 0 })).resolves.toBe('revoked');
    });

    it('of a moved job whose record is lost leaves its reference valid too', async () => {
      const known = plain({ generation: nowMs() - OLD });
      const generation = await opened({ opening: moving(known.generation), known });
      await abort(generation);
      await expect(find()).resolves.toMatchObject({ born: 0, generation: known.generation });
      await expect(revoke({ born: 0 })).resolves.toBe('revoked');
      await expect(claim({ generation: known.generation, born: 0 })).resolves.toEqual({ kind: 'gone' });
    });

    it('resets the attempts of a job that waits for a retry', async () => {
      const first = await run();
      await complete(first, { kind: 'retry', due: nowMs() + MINUTE });
      const generation = await opened({ opening: moving(0) });
      await commit(generation, { opening: moving(0), born: 0 });
      const second = await run({ generation, born: 0 });
      expect(second.attempt).toBe(1);
      expect(second.fence).toBeGreaterThan(first.fence);
    });

    it('takes a job whose lease has lapsed for one that waits', async () => {
      const short = await jobs.harness.withLease(jobs.tubeName, 30);
      const [answer] = await short.claim([copy()]);
      await jobs.harness.until(short, short.now() + 40);
      const generation = await opened({ opening: moving(0) });
      const committed = await commit(generation, { opening: moving(0), born: 0 });
      expect(committed).toMatchObject({ kind: 'committed', replaced: { state: 'waiting', attempt: 1 } });
      await expect(extend(runOf(copy(), answer))).resolves.toBe('refused');
      await expect(claim({ generation, born: 0 })).resolves.toMatchObject({ kind: 'run', attempt: 1 });
    });

    it('owes the old copies and the new', async () => {
      const generation = await opened({ opening: moving(0), known: plain({ due: nowMs() - 1_000 }) });
      await commit(generation, { opening: moving(0), born: 0 });
      await complete(await run({ generation, born: 0 }), { kind: 'done' }, NONE);
      await settle(0b111, { generation });
      expectAbout(await forgottenIn(), KEPT);
      await settle(0b111);
      expectAbout(await forgottenIn(), SETTINGS.doneTtl);
    });

    it('is refused for what it did not expect, or what does not wait', async () => {
      const refusal = async (id: string, expected = 0) => {
        const answer = await open({ id, opening: moving(expected), known: plain() });
        return answer.kind === 'refused' ? answer.why : answer.kind;
      };
      await expect(refusal('1', 7)).resolves.toBe('changed');
      await run({ id: 'running' });
      await expect(refusal('running')).resolves.toBe('running');
      await done(await run({ id: 'done' }));
      await expect(refusal('done')).resolves.toBe('done');
      await revoke({ id: 'revoked' });
      await expect(refusal('revoked')).resolves.toBe('revoked');
      await complete(await run({ id: 'dead' }), PENDING);
      await expect(refusal('dead')).resolves.toBe('dead');
      await expect(refusal('running', 7)).resolves.toBe('changed');
    });

    it('writes nothing for what it refuses', async () => {
      await open({ opening: moving(7), known: plain() });
      await expect(forgottenIn()).resolves.toBeUndefined();
    });

    it.each([
      ['running', 'changed', async (): Promise<void> => void (await run())],
      ['done', 'changed', async (): Promise<void> => void (await done(await run()))],
      ['dead', 'changed', async (): Promise<void> => void (await complete(await run(), PENDING))],
      ['revoked', 'revoked', async (): Promise<void> => void (await revoke())],
      [
        'waiting',
        'changed',
        async (): Promise<void> =>
          void (await commit(await opened({ opening: moving(0) }), { opening: moving(0), born: 0 })),
      ],
    ] as const)('is refused by its commit if the job is %s by then: %s', async (state, why, happens) => {
      const generation = await opened({ opening: moving(0), known: plain({ due: nowMs() - 1_000 }) });
      await happens();
      await expect(commit(generation, { opening: moving(0), born: 0 })).resolves.toMatchObject({
        kind: 'refused',
        why,
        present: { state },
      });
      await expect(claim({ generation, born: 0 })).resolves.toEqual({ kind: 'gone' });
    });

    it('that was overtaken by another is refused, even where the present one waits', async () => {
      const first = await opened({ opening: moving(0), known: plain() });
      const second = await opened({ opening: moving(0) });
      await commit(first, { opening: moving(0), born: 0 });
      await expect(commit(second, { opening: moving(0), born: 0 })).resolves.toMatchObject({
        kind: 'refused',
        why: 'changed',
        present: { generation: first },
      });
      await expect(claim({ generation: second, born: 0 })).resolves.toEqual({ kind: 'gone' });
    });
  });

  describe('a moved generation whose commit never came', () => {
    const moved = () => nowMs() - OLD;

    it('is adopted by its first claim while the job waits', async () => {
      await complete(await run(), { kind: 'retry', due: nowMs() + MINUTE });
      const generation = moved();
      await expect(claim({ generation, born: 0, token: 'b' })).resolves.toMatchObject({
        kind: 'run',
        attempt: 1,
      });
      await expect(claim({ token: 'c' })).resolves.toEqual({ kind: 'gone' });
      await expect(find()).resolves.toMatchObject({ born: 0, generation });
    });

    it('is adopted without any record', async () => {
      await expect(claim({ generation: moved(), born: 0 })).resolves.toMatchObject({ kind: 'run' });
    });

    it('is adopted where its add is younger than all that the record knows: Redis has lost that, too', async () => {
      const older = nowMs() - 3 * OLD;
      await done(await run({ generation: older }));
      const generation = moved();
      const adopted = await claim({ generation, born: older + 1, token: 'b' });
      expect(adopted).toMatchObject({ kind: 'run', attempt: 1 });
      await expect(find()).resolves.toMatchObject({ born: older + 1, generation });
    });

    it('is given up once the old one is done, for good', async () => {
      await done(await run());
      const generation = moved();
      await expect(claim({ generation, born: 0, token: 'b' })).resolves.toEqual({ kind: 'gone' });
      const late = await commit(generation, { opening: moving(0), born: 0 });
      expect(late).toMatchObject({ kind: 'refused', why: 'changed' });
      await expect(find()).resolves.toMatchObject({ state: 'done', generation: 0 });
    });

    it('is given up once the key belongs to another add, for good', async () => {
      const older = nowMs() - 3 * OLD;
      await commit(older);
      const generation = moved();
      await expect(claim({ generation, born: older - 9, token: 'b' })).resolves.toEqual({ kind: 'gone' });
      await expect(commit(generation, { opening: moving(older), born: older - 9 })).resolves.toMatchObject({
        kind: 'refused',
      });
      await expect(claim({ generation: older })).resolves.toMatchObject({ kind: 'run' });
    });

    it('is given up at once while another add’s job runs', async () => {
      const older = nowMs() - 3 * OLD;
      await run({ generation: older });
      await expect(claim({ generation: moved(), born: older - 9, token: 'b' })).resolves.toEqual({
        kind: 'gone',
      });
    });

    it('is held back while the old one runs, and decided by how that ends', async () => {
      const generation = moved();
      const first = await run({ id: '1' });
      const second = await run({ id: '2' });
      const claimBoth = () =>
        jobs.tube.claim(['1', '2'].map((id) => copy({ id, generation, born: 0, token: 'b' })));
      await expect(claimBoth()).resolves.toMatchObject([{ kind: 'busy' }, { kind: 'busy' }]);
      await done(first);
      await complete(second, { kind: 'retry', due: nowMs() + MINUTE });
      await expect(claimBoth()).resolves.toMatchObject([{ kind: 'gone' }, { kind: 'run' }]);
    });

    it('is adopted where the old one’s runner was lost: that run may have gone on as it, which Redis then lost', async () => {
      const short = await jobs.harness.withLease(jobs.tubeName, 30);
      await short.claim([copy()]);
      await jobs.harness.until(short, short.now() + 40);
      const generation = moved();
      await expect(claim({ generation, born: 0, token: 'b' })).resolves.toMatchObject({
        kind: 'run',
        attempt: 1,
      });
      await expect(claim({ token: 'c' })).resolves.toEqual({ kind: 'gone' });
    });

    it('is given up where the old one’s runner was lost under a revoke', async () => {
      const short = await jobs.harness.withLease(jobs.tubeName, 30);
      const generation = moved();
      await short.claim([copy()]);
      await revoke();
      await jobs.harness.until(short, short.now() + 40);
      await expect(claim({ generation, born: 0, token: 'b' })).resolves.toEqual({ kind: 'gone' });
    });

    it('is adopted where the job is dead, and takes its letter away: Redis has lost the commit of a revival', async () => {
      await complete(await run(), { kind: 'dead', death: { why: 'discarded' }, places: [] });
      const generation = moved();
      await expect(claim({ generation, born: 0, token: 'b' })).resolves.toMatchObject({
        kind: 'run',
        attempt: 1,
      });
      await expect(jobs.tube.letter([{ id: 'job', born: 0 }])).resolves.toEqual([undefined]);
      await expect(jobs.tube.letters({ limit: 1, after: undefined })).resolves.toMatchObject({ letters: [] });
    });
  });
});
