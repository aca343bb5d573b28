// Which dead letters are not retained, and that taking those away touches no other death.
import { describe, expect, it } from '@jest/globals';
import { everyLedger, MINUTE, placesOf, runOf, THREE } from './ledger-jobs.js';

everyLedger((jobs) => {
  const { claim, commit, copy, complete, find, letter, opened, pass, run } = jobs;

  const DEAD = { kind: 'dead', death: { why: 'discarded' }, places: placesOf('n') } as const;
  const NONE = { letters: [], more: false };
  /** Without a limit unless one is given. */
  const surplus = async (given: { maxAge?: number; maxCount?: number; limit?: number }) => {
    const { letters, more } = await jobs.tube.surplus({
      maxAge: MINUTE,
      maxCount: 100,
      limit: 100,
      ...given,
    });
    return { letters: letters.map(({ id }) => id), more };
  };

  /** They die in one call, and so in one millisecond; the next ones later. */
  async function die(...ids: readonly string[]): Promise<void> {
    const requests = ids.map((id) => copy({ id }));
    const answers = await jobs.tube.claim(requests);
    const runs = requests.map((request, index) => runOf(request, answers[index]));
    await jobs.tube.complete(runs.map((ref) => ({ ...ref, owed: THREE, outcome: DEAD })));
    await pass(2);
  }

  describe('the surplus', () => {
    it('is empty where nothing is dead', async () => {
      await expect(surplus({ maxAge: 0, maxCount: 0 })).resolves.toEqual(NONE);
    });

    it('has no letter that is young and within the count', async () => {
      await die('old-b', 'old-a');
      await die('new');
      await expect(surplus({ maxCount: 3 })).resolves.toEqual(NONE);
      await expect(surplus({ maxCount: 4 })).resolves.toEqual(NONE);
    });

    it('has the letters beyond the count, the oldest first', async () => {
      await die('old-b', 'old-a');
      await die('new');
      const beyond = (maxCount: number) => surplus({ maxCount });
      await expect(beyond(2)).resolves.toEqual({ letters: ['old-a'], more: false });
      await expect(beyond(1)).resolves.toEqual({ letters: ['old-a', 'old-b'], more: false });
      await expect(beyond(0)).resolves.toEqual({ letters: ['old-a', 'old-b', 'new'], more: false });
    });

    it('has the letters that are too old, however few they are', async () => {
      await die('1', '2');
      await expect(surplus({ maxAge: 0 })).resolves.toEqual({ letters: ['1', '2'], more: false });
    });

    it('is listed up to the limit, with whether there is more', async () => {
      await die('1', '2', '3');
      await expect(surplus({ maxAge: 0, limit: 2 })).resolves.toEqual({ letters: ['1', '2'], more: true });
      await expect(surplus({ maxAge: 0, limit: 3 })).resolves.toEqual({
        letters: ['1', '2', '3'],
        more: false,
      });
      await expect(surplus({ maxCount: 1, limit: 1 })).resolves.toEqual({ letters: ['1'], more: true });
    });

    it('shows what a letter is, and takes nothing away', async () => {
      await die('job');
      const { letters } = await jobs.tube.surplus({ maxAge: 0, maxCount: 0, limit: 1 });
      expect(letters).toEqual([await letter()]);
      await expect(find()).resolves.toMatchObject({ state: 'dead' });
    });

    it('is the tube’s own', async () => {
      await die('job');
      const other = jobs.harness.tube(`${jobs.tubeName}2`);
      await expect(other.surplus({ maxAge: 0, maxCount: 0, limit: 1 })).resolves.toEqual(NONE);
    });
  });

  describe('a discard of one death', () => {
    it('takes the letter of this death', async () => {
      await die('job');
      const { died } = (await letter())!;
      await expect(jobs.tube.discard([{ id: 'job', born: 0, died }])).resolves.toMatchObject([{ died }]);
      await expect(letter()).resolves.toBeUndefined();
      await expect(claim({ token: 'b' })).resolves.toEqual({ kind: 'gone' });
    });

    it('leaves the letter of a job that was revived and died again', async () => {
      await die('job');
      const { died } = (await letter())!;
      const opening = { by: 'revive', expected: 0 } as const;
      const generation = await opened({ opening });
      await commit(generation, { opening, born: 0 });
      await complete(await run({ generation, born: 0 }), DEAD);
      await expect(jobs.tube.discard([{ id: 'job', born: 0, died }])).resolves.toEqual([undefined]);
      await expect(letter()).resolves.toMatchObject({ generation });
      await expect(find()).resolves.toMatchObject({ state: 'dead' });
    });
  });
});
