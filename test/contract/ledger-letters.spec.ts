// Dead letters: what is stored of them, and the pages of a tube's list.
import { describe, expect, it } from '@jest/globals';
import type { Death, Letter, LetterPage } from 'nest-dq/src/ledger/requests.js';
import { everyLedger, expectAbout, placesOf, runOf, THREE } from './ledger-jobs.js';

everyLedger((jobs) => {
  const { add, claim, commit, copy, done, complete, forgottenIn, letter } = jobs;
  const { nowMs, opened, pass, run } = jobs;

  const ERROR = { name: 'PaymentError', message: 'no card “42”\n\\', stack: `at ${'x'.repeat(5_000)}` };
  const dead = (death: Death = { why: 'discarded' }, places = placesOf('n')) =>
    ({ kind: 'dead', death, places }) as const;
  const list = (over: Partial<LetterPage> = {}) =>
    jobs.tube.letters({ limit: 100, after: undefined, ...over });

  /** Kills these jobs in one call, and so in one millisecond. */
  async function die(ids: readonly string[]): Promise<void> {
    const requests = ids.map((id) => copy({ id }));
    const answers = await jobs.tube.claim(requests);
    const runs = requests.map((request, index) => runOf(request, answers[index]));
    await jobs.tube.complete(runs.map((ref) => ({ ...ref, owed: THREE, outcome: dead() })));
  }

  it('show why, when, what was tried and where the copies are, forever', async () => {
    const due = nowMs() - 2_000;
    await complete(await run({ due }), { kind: 'retry', due: due + 1_000 });
    await complete(await run({ token: 'b' }), dead({ why: 'discarded', error: ERROR }));
    const expected: Letter = {
      id: 'job',
      born: 0,
      generation: 0,
      due: due + 1_000,
      attempt: 2,
      why: 'discarded',
      error: ERROR,
      died: expect.any(Number) as unknown as number,
      places: placesOf('n'),
    };
    await expect(letter()).resolves.toEqual(expected);
    await expect(list()).resolves.toEqual({ letters: [expected], more: false });
    expectAbout((await letter())?.died, nowMs());
    await expect(forgottenIn()).resolves.toBe(Infinity);
  });

  it('show what the record knows when the attempts are used up', async () => {
    const generation = await add({ places: placesOf('n') });
    await complete(await run({ generation }), { kind: 'retry', due: nowMs() - 1_000 });
    await expect(claim({ generation, attempts: 1, token: 'b' })).resolves.toEqual({
      kind: 'dead',
      fresh: true,
    });
    const found = await letter({ born: generation });
    expect(found).toMatchObject({ why: 'attempts', generation, attempt: 1, places: placesOf('n') });
    expect(found).not.toHaveProperty('error');
  });

  it('show where the copies were when the move of their job was given up', async () => {
    const known = { generation: 0, born: 0, due: nowMs() - 1_000, owed: THREE, places: placesOf('old') };
    await jobs.abort(await opened({ opening: { by: 'move', expected: 0 }, known }));
    await complete(await run(), { kind: 'back' });
    const second = await run({ attempts: 1 });
    await complete(second, { kind: 'retry', due: nowMs() - 1_000 });
    await claim({ attempts: 1, token: 'b' });
    await expect(letter()).resolves.toMatchObject({ why: 'attempts', places: placesOf('old') });
  });

  it('identify a moved job by the generation of its add', async () => {
    await complete(await run(), { kind: 'back' });
    const generation = await opened({ opening: { by: 'move', expected: 0 } });
    await commit(generation, { opening: { by: 'move', expected: 0 }, born: 0 });
    await complete(await run({ generation, born: 0 }), dead());
    await expect(letter()).resolves.toMatchObject({ born: 0, generation });
  });

  it('are found by key while the key’s job is dead', async () => {
    const first = await add();
    await complete(await run({ generation: first }), dead());
    const ask = { id: 'job', born: undefined };
    const byKey = async () => (await jobs.tube.letter([ask]))[0];
    await expect(byKey()).resolves.toMatchObject({ born: first });
    const second = await add();
    await expect(byKey()).resolves.toBeUndefined();
    await expect(letter({ born: first })).resolves.toMatchObject({ generation: first });
    await complete(await run({ generation: second }), dead());
    await expect(byKey()).resolves.toMatchObject({ born: second });
    await expect(list()).resolves.toMatchObject({
      letters: [{ born: second }, { born: first }],
      more: false,
    });
  });

  it('answer nothing for what is not dead, and many in their order', async () => {
    await die(['1', '3']);
    await done(await run({ id: '2' }));
    const refs = ['3', '2', 'none', '1'].map((id) => ({ id, born: 0 }));
    const ids = (found: (Letter | undefined)[]) => found.map((each) => each?.id);
    expect(ids(await jobs.tube.letter(refs))).toEqual(['3', undefined, undefined, '1']);
    expect(ids(await jobs.tube.letter(refs.map(({ id }) => ({ id, born: undefined }))))).toEqual([
      '3',
      undefined,
      undefined,
      '1',
    ]);
    await expect(jobs.tube.letter([])).resolves.toEqual([]);
    await expect(jobs.tube.discard([])).resolves.toEqual([]);
    await expect(jobs.tube.buried([])).resolves.toEqual([]);
  });

  describe('pages', () => {
    /** Page by page, as somebody reads them who meanwhile does something. */
    async function pages(limit: number, meanwhile?: (page: readonly Letter[]) => Promise<void>) {
      const names: string[] = [];
      let after: Letter | undefined;
      for (let more = true; more;) {
        const page = await list({ limit, after });
        names.push(...page.letters.map(({ id, born }) => `${id}:${born}`));
        expect(page.letters.length).toBeLessThanOrEqual(limit);
        if (page.more) expect(page.letters).toHaveLength(limit);
        await meanwhile?.(page.letters);
        after = page.letters.at(-1);
        more = page.more && after !== undefined;
      }
      return names;
    }
    const named = (prefix: string, count: number) =>
      Array.from({ length: count }, (_, index) => `${prefix}${String(index).padStart(3, '0')}`);
    const newestFirst = (ids: readonly string[]) => ids.map((id) => `${id}:0`).reverse();

    it('are empty where nothing is dead', async () => {
      await expect(list()).resolves.toEqual({ letters: [], more: false });
    });

    it('continue after a position that was never a letter of the tube, as in lists of several tubes', async () => {
      await die(['old-b', 'old-a']);
      const { died } = (await letter({ id: 'old-a' }))!;
      await pass(2);
      await die(['new']);
      const behind = async (after: NonNullable<LetterPage['after']>) =>
        (await list({ after })).letters.map(({ id }) => id);
      expect(await behind({ died: died + 1, id: 'x', born: 7 })).toEqual(['old-b', 'old-a']);
      expect(await behind({ died, id: 'old-aa', born: 7 })).toEqual(['old-a']);
      expect(await behind({ died: died - 1, id: 'x', born: 7 })).toEqual([]);
    });

    it('are newest first, and those of one millisecond by name in descending order', async () => {
      await die(['old-b', 'old-A', 'old-a']);
      await pass(2);
      await die(['new']);
      const expected = ['new:0', 'old-b:0', 'old-a:0', 'old-A:0'];
      for (const limit of [1, 2, 3, 4, 5]) await expect(pages(limit)).resolves.toEqual(expected);
    });

    it('list none twice and leave none out, however many died in one millisecond', async () => {
      const ids = named('job', 200);
      await die(ids);
      await expect(pages(7)).resolves.toEqual(newestFirst(ids));
      await expect(pages(100)).resolves.toEqual(newestFirst(ids));
    });

    it('continue where they were although what was read is taken away meanwhile', async () => {
      const ids = [...named('a', 20), ...named('b', 20)];
      await die(ids.slice(0, 20));
      await pass(2);
      await die(ids.slice(20));
      const read = pages(6, async (page) => {
        await jobs.tube.discard(page);
      });
      await expect(read).resolves.toEqual(newestFirst(ids));
      await expect(list()).resolves.toEqual({ letters: [], more: false });
    });

    it('do not show what died since the first', async () => {
      const ids = named('job', 9);
      await die(ids);
      let times = 0;
      const read = pages(4, async () => {
        await pass(2);
        await die([`later${times++}`]);
      });
      await expect(read).resolves.toEqual(newestFirst(ids));
    });

    it('begin right after a place where nothing is', async () => {
      await die(['b', 'd']);
      const [{ died }] = (await list()).letters as [Letter];
      const behind = async (after: LetterPage['after']) =>
        (await list({ after })).letters.map(({ id }) => id);
      await expect(behind({ died, id: 'c', born: 0 })).resolves.toEqual(['b']);
      await expect(behind({ died, id: 'z', born: 0 })).resolves.toEqual(['d', 'b']);
      await expect(behind({ died, id: 'a', born: 0 })).resolves.toEqual([]);
      await expect(behind({ died: died + 1, id: 'a', born: 0 })).resolves.toEqual(['d', 'b']);
      await expect(behind({ died: died - 1, id: 'z', born: 0 })).resolves.toEqual([]);
    });

    it('are the tube’s own', async () => {
      await die(['job']);
      await expect(
        jobs.harness.tube(`${jobs.tubeName}2`).letters({ limit: 9, after: undefined }),
      ).resolves.toEqual({ letters: [], more: false });
    });
  });

  describe('buried', () => {
    it('adds the places that nobody knew of, and none twice', async () => {
      const [first, second, third] = placesOf('n');
      // A put without an answer was repeated on another node, and stored on both.
      const twin = { index: 0, location: 'other#x:1' };
      const like = { index: 1, location: `${second!.location}0` };
      const job = { id: 'job', born: 0, generation: 0 };
      await complete(await run(), dead(undefined, [first!]));
      await jobs.tube.buried([
        { ...job, places: [like] },
        { ...job, places: [second!, first!] },
        { ...job, places: [twin, third!] },
        { ...job, places: [second!, twin] },
        { ...job, id: 'none', places: [third!] },
      ]);
      const places = [first, like, second, twin, third];
      await expect(letter()).resolves.toMatchObject({ places });
      await expect(letter({ id: 'none' })).resolves.toBeUndefined();
      await expect(list()).resolves.toMatchObject({ letters: [{ places }] });
    });
  });
});
