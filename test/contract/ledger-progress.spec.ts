// How far a run is, kept for people to see. Nothing depends on it.
import { expect, it } from '@jest/globals';
import type { RunProgress, RunRef } from 'nest-dq/src/ledger/requests.js';
import { everyLedger, MINUTE } from './ledger-jobs.js';

everyLedger((jobs) => {
  const { add, claim, complete, copy, done, find, nowMs, revoke, run } = jobs;

  const HALF: RunProgress = { fraction: 0.5, note: 'page 12 of “30”\n', at: 1_764_000_000_123 };
  const report = ({ id, fence }: Pick<RunRef, 'id' | 'fence'>, progress: RunProgress = HALF) =>
    jobs.tube.progress([{ id, fence, progress }]);
  const trace = async () => (await jobs.tube.ask('trace', ['job']))[0];

  it('is what the run reported last, for who finds or traces its job', async () => {
    const ref = await run();
    expect(await find()).not.toHaveProperty('progress');
    await report(ref);
    expect(await find()).toMatchObject({ state: 'running', progress: HALF });
    await report(ref, { fraction: 1 / 3, at: 7 });
    expect(await find()).toHaveProperty('progress', { fraction: 1 / 3, at: 7 });
    expect(await trace()).toHaveProperty('progress', { fraction: 1 / 3, at: 7 });
  });

  it('is each run’s own, in one call', async () => {
    const [a, b] = [await run({ id: 'a' }), await run({ id: 'b' })];
    await jobs.tube.progress([
      { id: 'a', fence: a.fence, progress: HALF },
      { id: 'none', fence: a.fence, progress: HALF },
      { id: 'b', fence: b.fence, progress: { fraction: 0, at: 1 } },
    ]);
    expect(await find('a')).toHaveProperty('progress', HALF);
    expect(await find('b')).toHaveProperty('progress', { fraction: 0, at: 1 });
    expect(await find('none')).toBeUndefined();
  });

  it('changes nothing about the run, and stays when its lease is renewed', async () => {
    const ref = await run();
    const before = [await find(), await trace(), await jobs.forgottenIn()] as const;
    await report(ref);
    const { progress: _found, ...found } = (await find())!;
    const { progress: _traced, ...traced } = (await trace())!;
    expect([found, traced]).toEqual(before.slice(0, 2));
    expect(await jobs.forgottenIn()).toBeLessThanOrEqual(before[2]!);
    expect(await jobs.extend(ref)).toBe('ok');
    expect(await find()).toHaveProperty('progress', HALF);
    expect(await done(ref)).toBe('ok');
  });

  it('is gone with the run, however that ends', async () => {
    const size = async () => {
      const ref = await run();
      await complete(ref, { kind: 'retry', due: nowMs() - 1 });
      return jobs.size();
    };
    const without = await size();
    const ref = await run({ token: 'b' });
    await report(ref);
    await complete(ref, { kind: 'retry', due: nowMs() - 1 });
    expect(await find()).not.toHaveProperty('progress');
    expect(await jobs.size()).toBe(without);
    await run({ token: 'c' });
    expect(await find()).toMatchObject({ state: 'running', attempt: 3 });
    expect(await find()).not.toHaveProperty('progress');
  });

  it('is not shown once the lease is over, nor of the next attempt', async () => {
    const brief = await jobs.harness.withLease(jobs.tubeName, 50);
    const request = copy();
    const [answer] = await brief.claim([request]);
    const { fence } = answer as { fence: number };
    await report({ id: 'job', fence });
    await jobs.harness.until(jobs.tube, (await trace())!.leaseEnd);
    expect(await find()).toMatchObject({ state: 'waiting', attempt: 1 });
    expect(await find()).not.toHaveProperty('progress');
    await run({ token: 'b' });
    expect(await find()).toMatchObject({ state: 'running', attempt: 2 });
    expect(await find()).not.toHaveProperty('progress');
    await report({ id: 'job', fence }); // the first one, which has only been slow
    expect(await find()).not.toHaveProperty('progress');
  });

  it('is ignored unless the job is being run', async () => {
    await report({ id: 'job', fence: 1 });
    expect(await find()).toBeUndefined();
    const ref = await run();
    await done(ref);
    const size = await jobs.size();
    await report(ref);
    expect([await find(), await jobs.size()]).toEqual([expect.objectContaining({ state: 'done' }), size]);
    expect(await claim({ token: 'b' })).toEqual({ kind: 'gone' });
  });

  it('is kept of the last run of a job that was revoked', async () => {
    const ref = await run();
    await revoke();
    await report(ref);
    expect(await find()).toMatchObject({ state: 'running', progress: HALF });
  });

  it('is not that of the job which replaced it while it ran', async () => {
    const first = await add();
    const ref = await run({ generation: first });
    await report(ref);
    await add({ due: nowMs() + MINUTE });
    await report(ref);
    expect(await find()).toMatchObject({ state: 'waiting' });
    expect(await find()).not.toHaveProperty('progress');
  });
});
