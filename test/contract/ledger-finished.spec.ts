// Jobs that are done, kept for people to see. Nothing depends on them.
import { describe, expect, it } from '@jest/globals';
import type { FinishedRun, KeptDone } from 'nest-dq/src/ledger/requests.js';
import { everyLedger, MINUTE, runOf, THREE } from './ledger-jobs.js';

everyLedger((jobs) => {
  const { add, claim, complete, done, find, nowMs, pass, revoke, run } = jobs;

  const ended = (over: Partial<FinishedRun> = {}): FinishedRun => ({
    took: 31,
    attempt: 1,
    process: 'host:7',
    ...over,
  });
  const keeping = (over: Partial<KeptDone> = {}) =>
    ({ kind: 'done', kept: { run: ended(), period: MINUTE, max: 100, ...over } }) as const;
  const page = async (given: { from?: number; to?: number; after?: object; limit?: number } = {}) => {
    const [list] = await jobs.tube.ask('finished', [{ limit: 50, ...given } as { limit: number }]);
    return list!;
  };
  const ids = async (given: Parameters<typeof page>[0] = {}) => (await page(given)).jobs.map(({ id }) => id);
  const one = async (id = 'job') => (await jobs.tube.ask('ended', [id]))[0];

  /** They end in one call, and so in one millisecond; the next ones later. */
  async function finish(names: readonly string[], over: Partial<KeptDone> = {}): Promise<void> {
    const requests = names.map((id) => jobs.copy({ id }));
    const answers = await jobs.tube.claim(requests);
    const runs = requests.map((request, index) => runOf(request, answers[index]));
    const outcome = keeping(over);
    await jobs.tube.complete(runs.map((ref) => ({ ...ref, owed: THREE, outcome })));
    await pass(2);
  }

  it('are none unless a completion brings one along', async () => {
    await done(await run());
    expect(await page()).toEqual({ jobs: [] });
    expect(await one()).toBeUndefined();
  });

  it('have the time of their end by the ledger’s clock, and what the completion says', async () => {
    const all = ended({ key: 'order-42 “ü”', attempt: 3, result: '{"paid":[true,null],"note":"“ü”\\n"}' });
    const before = nowMs();
    await expect(complete(await run(), keeping({ run: all }))).resolves.toBe('ok');
    const found = await one();
    expect(found).toEqual({ id: 'job', ended: expect.any(Number), ...all });
    expect(found!.ended).toBeGreaterThanOrEqual(before - 5);
    expect(found!.ended).toBeLessThanOrEqual(jobs.tube.now() + 5);
    expect(await page()).toEqual({ jobs: [found] });
  });

  it.each(['too long', 'not JSON'] as const)('say that a result is left out (%s)', async (leftOut) => {
    await complete(await run(), keeping({ run: ended({ leftOut }) }));
    expect(await one()).toMatchObject({ leftOut });
    expect(await one()).not.toHaveProperty('result');
  });

  it.each([undefined, 1_764_000_000_000])('have the last progress of their run (born %s)', async (born) => {
    const all = ended({ ...(born && { born }), progress: { fraction: 0.3, note: '“ü”', at: 5 } });
    await complete(await run(), keeping({ run: all }));
    expect(await one()).toEqual({ id: 'job', ended: expect.any(Number), ...all });
  });

  it('are only those that the ledger accepted as done', async () => {
    const ref = await run();
    await expect(complete({ ...ref, fence: ref.fence - 1 }, keeping())).resolves.toBe('refused');
    expect(await one()).toBeUndefined();
    const generation = await add();
    const replaced = await run({ generation, id: 'job' }).catch(() => undefined);
    expect(replaced).toBeUndefined(); // held up by the first one
    await expect(complete(ref, keeping())).resolves.toBe('over');
    expect(await one()).toBeUndefined();
  });

  it('have one that was revoked while it ran, and succeeded', async () => {
    const ref = await run();
    await expect(revoke()).resolves.toBe('running');
    await expect(complete(ref, keeping())).resolves.toBe('ok');
    expect(await one()).toMatchObject({ id: 'job' });
  });

  it('are kept once if the call is repeated', async () => {
    const ref = await run();
    await complete(ref, keeping());
    const first = await one();
    await pass(2);
    await expect(complete(ref, keeping({ run: ended({ took: 99 }) }))).resolves.toBe('ok');
    expect(await one()).toEqual(first);
    expect(await ids()).toEqual(['job']);
  });

  it('change nothing about the job', async () => {
    await complete(await run(), keeping());
    await expect(find()).resolves.toMatchObject({ state: 'done', attempt: 1 });
    await expect(claim({ token: 'b' })).resolves.toEqual({ kind: 'gone' });
  });

  it('have only the last end of a key that is used again', async () => {
    const first = await add();
    await complete(await run({ generation: first, token: 'a' }), keeping());
    await finish(['other']);
    const second = await add();
    await complete(await run({ generation: second, token: 'b' }), keeping({ run: ended({ took: 5 }) }));
    expect(await ids()).toEqual(['job', 'other']);
    expect(await one()).toMatchObject({ took: 5 });
  });

  it('are the tube’s own', async () => {
    await finish(['job']);
    const other = jobs.harness.tube(`${jobs.tubeName}2`);
    await expect(other.ask('finished', [{ limit: 10 }])).resolves.toEqual([{ jobs: [] }]);
    await expect(other.ask('ended', ['job'])).resolves.toEqual([undefined]);
  });

  it('are found by id, several at once', async () => {
    await finish(['a', 'b']);
    const found = await jobs.tube.ask('ended', ['b', 'none', 'a']);
    expect(found.map((each) => each?.id)).toEqual(['b', undefined, 'a']);
  });

  describe('a page', () => {
    it('has the newest first, and continues where the last one ended', async () => {
      await finish(['a', 'c', 'b']);
      await finish(['0']);
      await expect(ids()).resolves.toEqual(['0', 'c', 'b', 'a']);
      const first = await page({ limit: 2 });
      expect(first.jobs.map(({ id }) => id)).toEqual(['0', 'c']);
      await finish(['later']);
      const second = await page({ limit: 1, after: first.last! });
      expect(second.jobs.map(({ id }) => id)).toEqual(['b']);
      const third = await page({ limit: 2, after: second.last! });
      expect([third.jobs.map(({ id }) => id), third.last]).toEqual([['a'], undefined]);
      await expect(page({ after: { ...second.last, ended: 1 } })).resolves.toEqual({ jobs: [] });
    });

    it('has those of a range of time, its end excluded', async () => {
      await finish(['a']);
      await finish(['b', 'c']);
      await finish(['d']);
      const at = async (id: string) => (await one(id))!.ended;
      await expect(ids({ from: await at('b') })).resolves.toEqual(['d', 'c', 'b']);
      await expect(ids({ to: await at('b') })).resolves.toEqual(['a']);
      await expect(ids({ from: await at('b'), to: await at('d') })).resolves.toEqual(['c', 'b']);
      await expect(ids({ from: (await at('d')) + 1 })).resolves.toEqual([]);
      await expect(ids({ from: await at('d'), to: await at('a') })).resolves.toEqual([]);
      const [first] = [await page({ from: await at('b'), limit: 2 })];
      expect(first.last).toMatchObject({ id: 'c' });
      const next = await page({ from: await at('b'), limit: 2, after: first.last! });
      expect([next.jobs.map(({ id }) => id), next.last]).toEqual([['b'], undefined]);
    });
  });

  describe('beyond the bounds of their tube', () => {
    it('go with the next completion: the oldest beyond the count', async () => {
      await finish(['a', 'b']);
      await finish(['c'], { max: 2 });
      await expect(ids()).resolves.toEqual(['c', 'b']);
      expect(await one('a')).toBeUndefined();
      await finish(['d'], { max: 2 });
      await expect(ids()).resolves.toEqual(['d', 'c']);
    });

    it('go with the next completion: those that are too old', async () => {
      await finish(['a', 'b']);
      await pass(40);
      await finish(['c'], { period: 40 });
      await expect(ids()).resolves.toEqual(['c']);
    });

    it('go in parts, so that no call takes long', async () => {
      const names = (from: number) => Array.from({ length: 120 }, (_, i) => `${from + i}`);
      await finish(names(1_000), { max: 1_000 });
      await finish(names(2_000), { max: 1_000 });
      await finish(['last'], { max: 1 });
      await expect(ids({ limit: 250 })).resolves.toHaveLength(140);
      await finish(['very last'], { max: 1 });
      await expect(ids({ limit: 250 })).resolves.toHaveLength(40);
      await finish(['end'], { max: 1 });
      await expect(ids()).resolves.toEqual(['end']);
    });

    it('go also with the largest call of a process', async () => {
      await finish(
        Array.from({ length: 1_000 }, (_, i) => `${1_000 + i}`),
        { max: 2 },
      );
      await expect(ids()).resolves.toEqual(['1999', '1998']);
    });

    it('go all at once when no job has finished for that long', async () => {
      await finish(['a', 'b'], { period: 1_000 });
      await expect(ids()).resolves.toEqual(['b', 'a']);
      await pass(1_010);
      await expect(page()).resolves.toEqual({ jobs: [] });
      expect(await one('a')).toBeUndefined();
      await finish(['c'], { period: 60_000 });
      await expect(ids()).resolves.toEqual(['c']);
    });
  });

  it('survive a restart where decisions do', async () => {
    await finish(['a', 'c', 'b']);
    const before = await page();
    await jobs.harness.close();
    await jobs.harness.open();
    jobs.tube = jobs.harness.tube(jobs.tubeName);
    await jobs.tube.readTime();
    expect(await page()).toEqual(jobs.harness.survivesRestart ? before : { jobs: [] });
  });
});
