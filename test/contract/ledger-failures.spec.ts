// The errors of a job's last runs: kept with the record of a job that is retried, for people to see. Nothing depends on them.
import { describe, expect, it } from '@jest/globals';
import type { CompleteRequest, FailedRun } from 'nest-dq/src/ledger/requests.js';
import { everyLedger, MINUTE, placesOf, THREE } from './ledger-jobs.js';

const LONG: FailedRun = {
  attempt: 1,
  startedAt: 1_790_000_000_123,
  took: 12_345,
  process: 'a-host-with-a-rather-long-name.example.org:12345',
  name: 'PaymentError',
  message: 'x'.repeat(288),
};

everyLedger((jobs) => {
  const { add, claim, complete, done, forgottenIn, letter, nowMs, opened, pass, revoke, run, size } = jobs;

  const failure = (attempt: number): FailedRun => ({
    attempt,
    startedAt: 1_790_000_000_000 + attempt,
    took: 10 * attempt,
    process: 'host:1',
    name: 'PaymentError',
    message: `no card “42”\n\\ ${attempt}`,
  });
  const retry = (attempt: number, over: object = {}) =>
    ({ kind: 'retry', due: nowMs() - 1_000, failure: failure(attempt), ...over }) as const;
  const dead = (kept?: FailedRun) =>
    ({ kind: 'dead', death: { why: 'attempts' }, places: placesOf('n'), failure: kept }) as const;
  const kept = async () => {
    const [trace] = await jobs.tube.ask('trace', ['job']);
    return trace?.failures;
  };
  const schedule = async () => {
    const [trace] = await jobs.tube.ask('trace', ['job']);
    const { failures: _, ...rest } = trace!;
    return rest;
  };

  /** Runs it this many times; each run fails and waits for its retry, which is due at once. */
  async function fail(times: number, over: { generation?: number } = {}): Promise<void> {
    for (let attempt = 1; attempt <= times; attempt++)
      await complete(await run({ token: `token ${attempt}`, ...over }), retry(attempt));
  }

  /** Moves a job that was never moved before, or revives it. */
  async function reopen(by: 'move' | 'revive', generation: number): Promise<void> {
    const opening = { by, expected: generation };
    const due = nowMs() + MINUTE;
    const next = await opened({ opening, due });
    const answer = await jobs.commit(next, { opening, born: generation, due });
    expect(answer.kind).toBe('committed');
  }

  it('are those of the last three failed runs, in their order', async () => {
    await fail(2);
    expect(await kept()).toEqual([failure(1), failure(2)]);
    await fail(1);
    await complete(await run({ token: 'again' }), retry(4));
    expect(await kept()).toEqual([failure(2), failure(1), failure(4)]);
  });

  it('stay while the next run is in progress, and when it is handed back', async () => {
    await fail(1);
    const ref = await run({ token: 'second' });
    expect(await kept()).toEqual([failure(1)]);
    await jobs.extend(ref);
    await complete(ref, { kind: 'back' });
    expect(await kept()).toEqual([failure(1)]);
  });

  it('are kept once if the call is repeated', async () => {
    const ref = await run();
    await complete(ref, retry(1));
    await complete(ref, retry(1));
    expect(await kept()).toEqual([failure(1)]);
  });

  it('are not kept if the run reports none', async () => {
    await complete(await run(), { kind: 'retry', due: nowMs() - 1_000 });
    expect(await kept()).toBeUndefined();
  });

  it('are dropped with the outcome of a run that lost its lease', async () => {
    const ref = await run();
    await expect(complete({ ...ref, fence: ref.fence - 1 }, retry(1))).resolves.toBe('refused');
    expect(await kept()).toBeUndefined();
  });

  describe('are forgotten', () => {
    it('when the job is done', async () => {
      await done(await run({ id: 'job' }));
      const small = await size();
      await jobs.harness.wipe();
      await fail(3);
      await done(await run({ token: 'last' }));
      expect(await kept()).toBeUndefined();
      expect(await size()).toBeLessThanOrEqual(small + 1); // the number of its attempt
    });

    it('when it is revoked, while it waits and while it runs', async () => {
      await fail(1);
      await revoke();
      expect(await kept()).toBeUndefined();
      await jobs.harness.wipe();
      await fail(1);
      const ref = await run({ token: 'second' });
      await revoke();
      await complete(ref, retry(2));
      expect(await kept()).toBeUndefined();
    });

    it('when its key gets another job, or it is moved', async () => {
      const generation = await add({ places: placesOf('n') });
      await fail(1, { generation });
      await pass(1);
      const next = await add({ places: placesOf('n') });
      expect(await kept()).toBeUndefined();
      await fail(1, { generation: next });
      await reopen('move', next);
      expect(await kept()).toBeUndefined();
    });

    it.each(['again', 'later'] as const)('when a run succeeds and its job continues (%s)', async (kind) => {
      await fail(1);
      const ref = await run({ token: 'second' });
      const due = nowMs() + MINUTE;
      const generation = await opened({ opening: { by: 'again', run: ref }, due });
      const next = { generation, due, announced: THREE.mask, owed: THREE, places: [] };
      await expect(complete(ref, { kind, ...next })).resolves.toBe('ok');
      expect(await kept()).toBeUndefined();
    });

    it('when a dead job is revived: it starts over', async () => {
      const generation = await add({ places: placesOf('n') });
      await fail(1, { generation });
      await complete(await run({ generation, token: 'last' }), dead(failure(2)));
      await reopen('revive', generation);
      expect(await kept()).toBeUndefined();
      expect(await letter({ born: generation })).toBeUndefined();
    });
  });

  describe('are in the letter of a job that died', () => {
    it('with that of the last run', async () => {
      await fail(3);
      await complete(await run({ token: 'last' }), dead(failure(4)));
      expect((await letter())?.failures).toEqual([failure(2), failure(3), failure(4)]);
      expect(await kept()).toBeUndefined();
      const { letters } = await jobs.tube.letters({ limit: 10, after: undefined });
      expect(letters[0]!.failures).toHaveLength(3);
    });

    it('also if a process that ended without a word used up its attempts', async () => {
      await fail(1);
      const [answer] = await jobs.tube.claim([{ ...jobs.copy(), token: 'last', attempts: 1 }]);
      expect(answer).toMatchObject({ kind: 'dead', fresh: true });
      expect((await letter())?.failures).toEqual([failure(1)]);
    });

    it('and leave no trace in the letter of one that had none', async () => {
      await complete(await run(), dead());
      expect(await letter()).not.toHaveProperty('failures');
    });
  });

  it('change nothing but themselves', async () => {
    const outcome = (over: object): CompleteRequest['outcome'] => ({
      kind: 'retry',
      due: nowMs() + MINUTE,
      ...over,
    });
    await complete(await run(), outcome({}));
    const [before, expiry] = [await schedule(), await forgottenIn()];
    await jobs.harness.wipe();
    await complete(await run(), outcome({ failure: failure(1) }));
    const [after, later] = [await schedule(), await forgottenIn()];
    const { fence: _, due: __, ...same } = before;
    expect(after).toMatchObject(same);
    expect(Math.abs(later! - expiry!)).toBeLessThan(5_000);
    await expect(claim({ token: 'early' })).resolves.toMatchObject({ kind: 'wait' });
  });

  it('take up to 450 bytes each', async () => {
    await complete(await run(), { kind: 'retry', due: nowMs() - 1_000 });
    const small = await size();
    await jobs.harness.wipe();
    for (let attempt = 1; attempt <= 5; attempt++)
      await complete(
        await run({ token: `token ${attempt}` }),
        retry(attempt, { failure: { ...LONG, attempt } }),
      );
    expect(await size()).toBeLessThan(small + 3 * 450);
  });
});
