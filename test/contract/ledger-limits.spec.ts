// Limits of a tube: how many runs begin in a time, and how many run at once, whoever claims.
import { describe, expect, it } from '@jest/globals';
import { permitOf, type Limits } from 'nest-dq/src/ledger/limits/limits.js';
import type { ClaimRequest } from 'nest-dq/src/ledger/requests.js';
import { SETTINGS } from './ledger-harness.js';
import { everyLedger, MINUTE, runOf } from './ledger-jobs.js';

const SECOND = 1_000;
/** Microseconds. */
const HOUR = 3_600_000_000;
const WAIT = 500;

everyLedger((jobs) => {
  const { complete, copy, done, extend, nowMs, revoke } = jobs;

  const requests = (names: string, limits: Limits, group?: string): ClaimRequest[] =>
    names.split(' ').map((id) => copy({ id, token: id, permit: permitOf(limits, group) }));
  /** Claims jobs in one call; `group` is that of all of them. */
  const ask = (names: string, limits: Limits, group?: string, sparedFrom?: number) =>
    jobs.tube.claim(requests(names, limits, group), { limits, sparedFrom });
  const kinds = async (...asked: Parameters<typeof ask>) =>
    (await ask(...asked)).map((answer) => (answer.kind === 'limited' ? answer.by : answer.kind));
  /** The run of one job. */
  const run = async (id: string, limits: Limits, group?: string) => {
    const [request] = requests(id, limits, group);
    const lastOk = jobs.tube.now();
    const [answer] = await jobs.tube.claim([request!], { limits });
    return { ...runOf(request!, answer), lastOk, permit: request!.permit };
  };
  const usage = async (group?: string) => (await jobs.tube.ask('usage', [{ group }]))[0]!;

  describe('a limit of concurrency', () => {
    const two: Limits = { concurrency: 2 };

    it('grants runs up to the limit, and another one when one is over', async () => {
      const first = await run('a', two);
      await expect(kinds('b c d', two)).resolves.toEqual(['run', 'concurrency', 'concurrency']);
      await expect(ask('c', two)).resolves.toEqual([{ kind: 'limited', by: 'concurrency', ms: WAIT }]);
      await expect(usage()).resolves.toMatchObject({ running: 2 });
      await expect(done(first)).resolves.toBe('ok');
      await expect(usage()).resolves.toMatchObject({ running: 1 });
      await expect(kinds('c d', two)).resolves.toEqual(['run', 'concurrency']);
    });

    it.each([
      ['fails', { kind: 'retry', due: 9e12 }],
      ['is handed back', { kind: 'back' }],
      ['ends as a dead letter', { kind: 'dead', death: { why: 'discarded' }, places: [] }],
    ] as const)('grants the next run when one %s', async (_how, outcome) => {
      const first = await run('a', two);
      await run('b', two);
      await complete(first, outcome);
      await expect(kinds('c d', two)).resolves.toEqual(['run', 'concurrency']);
    });

    it('grants the next run when a run of a revoked job is over', async () => {
      const first = await run('a', { concurrency: 1 });
      await expect(revoke({ id: 'a' })).resolves.toBe('running');
      await expect(kinds('b', { concurrency: 1 })).resolves.toEqual(['concurrency']);
      await expect(done(first)).resolves.toBe('ok');
      await expect(kinds('b', { concurrency: 1 })).resolves.toEqual(['run']);
    });

    it('counts no attempt of a refused job, and lets dead ones die', async () => {
      await run('a', { concurrency: 1 });
      for (let i = 0; i < 3; i++) await ask('b', { concurrency: 1 });
      await expect(jobs.find('b')).resolves.toBeUndefined();
      const old = copy({ id: 'c', due: nowMs() - SETTINGS.staleAfter - MINUTE, permit: '' });
      await expect(jobs.tube.claim([old], { limits: { concurrency: 1 } })).resolves.toEqual([
        { kind: 'stale' },
      ]);
      await expect(jobs.tube.claim([copy({ id: 'b' })])).resolves.toMatchObject([
        { kind: 'run', attempt: 1 },
      ]);
    });

    it('answers a repeated claim as it did, and counts its run once', async () => {
      const [asked] = requests('a', two);
      const twice = [asked!, asked!];
      const [granted, again] = await jobs.tube.claim(twice, { limits: two });
      expect(again).toEqual(granted);
      await expect(usage()).resolves.toMatchObject({ running: 1 });
    });

    it('takes the permit of a run back when its lease ends, unless that was renewed', async () => {
      const short = await jobs.harness.withLease(jobs.tubeName, 2 * SECOND);
      const claim = (names: string) => short.claim(requests(names, two), { limits: two });
      const [kept] = requests('a', two);
      const lastOk = short.now();
      const [answer] = await short.claim([kept!], { limits: two });
      await claim('b');
      const ref = { ...runOf(kept!, answer), lastOk, permit: '' };
      await jobs.pass(1_200);
      await expect(short.extend([ref])).resolves.toEqual(['ok']);
      await jobs.pass(900);
      await expect(claim('c d')).resolves.toMatchObject([{ kind: 'run' }, { kind: 'limited' }]);
    });

    it('takes no permit back whose lease ended while processes were cut off', async () => {
      const one: Limits = { concurrency: 1 };
      const short = await jobs.harness.withLease(jobs.tubeName, 40);
      await short.claim(requests('a', one), { limits: one });
      const before = nowMs() - SECOND;
      await jobs.pass(60);
      await expect(kinds('b', one, undefined, before)).resolves.toEqual(['concurrency']);
      await expect(kinds('b', one, undefined, nowMs() + SECOND)).resolves.toEqual(['run']);
    });

    it('counts a run again after the ledger has forgotten everything, once its lease is renewed', async () => {
      const ref = await run('a', { concurrency: 1 });
      await jobs.harness.wipe();
      await expect(usage()).resolves.toMatchObject({ running: 0 });
      await expect(extend(ref)).resolves.toBe('ok');
      await expect(kinds('b', { concurrency: 1 })).resolves.toEqual(['concurrency']);
      await expect(done(ref)).resolves.toBe('ok');
      await expect(kinds('b', { concurrency: 1 })).resolves.toEqual(['run']);
    });

    it('is not lifted by a run that was taken over', async () => {
      const short = await jobs.harness.withLease(jobs.tubeName, 40);
      const one: Limits = { concurrency: 1 };
      const [asked] = requests('a', one);
      const lastOk = short.now();
      const [answer] = await short.claim([asked!], { limits: one });
      await jobs.pass(60);
      await jobs.tube.claim([{ ...asked!, token: 'other' }], { limits: one });
      const [late] = await short.complete([
        {
          ...runOf(asked!, answer),
          lastOk,
          permit: '',
          owed: { mask: 7, unknown: false },
          outcome: { kind: 'done' },
        },
      ]);
      expect(late).toBe('refused');
      await expect(kinds('b', one)).resolves.toEqual(['concurrency']);
    });

    it('is of one tube', async () => {
      await run('a', { concurrency: 1 });
      const other = jobs.harness.tube(`${jobs.tubeName}.other`);
      await other.readTime();
      await expect(
        other.claim(requests('b', { concurrency: 1 }), { limits: { concurrency: 1 } }),
      ).resolves.toMatchObject([{ kind: 'run' }]);
    });
  });

  describe('a limit of groups', () => {
    const one: Limits = { perGroup: 1 };

    it('limits the runs of each group, but not those of jobs without a group', async () => {
      const first = await run('a', one, 'x');
      await expect(kinds('b', one, 'x')).resolves.toEqual(['group']);
      await expect(kinds('c', one, ':y')).resolves.toEqual(['run']);
      await expect(kinds('d e f', one)).resolves.toEqual(['run', 'run', 'run']);
      await expect(usage('x')).resolves.toMatchObject({ inGroup: 1 });
      await done(first);
      await expect(usage('x')).resolves.toMatchObject({ inGroup: 0 });
      await expect(kinds('b', one, 'x')).resolves.toEqual(['run']);
    });

    it('takes the permit of a group back when the lease ends', async () => {
      const short = await jobs.harness.withLease(jobs.tubeName, 40);
      await short.claim(requests('a', one, 'x'), { limits: one });
      await jobs.pass(60);
      await expect(kinds('b c', one, 'x')).resolves.toEqual(['run', 'group']);
    });

    it('makes waiting jobs ask one after the other, the slower the longer the run', async () => {
      await run('a', one, 'x');
      const times = async (names: string) =>
        (await ask(names, one, 'x')).map((answer) => (answer as { ms: number }).ms);
      const [first, second, third] = (await times('b c d')) as [number, number, number];
      expect(first).toBeGreaterThan(0);
      expect(second).toBeGreaterThan(first);
      expect(third).toBeGreaterThan(second);
      expect(third).toBeLessThan(MINUTE);
      const many = await times(Array.from({ length: 100 }, (_, i) => `j${i}`).join(' '));
      expect(Math.max(...many)).toBeLessThanOrEqual(MINUTE);
    });

    it('holds together with one of concurrency', async () => {
      const both: Limits = { concurrency: 2, perGroup: 1 };
      await expect(kinds('a b', both, 'x')).resolves.toEqual(['run', 'group']);
      await expect(kinds('c d', both)).resolves.toEqual(['run', 'concurrency']);
    });
  });

  describe('a limit of the rate', () => {
    it('grants one run in each interval, and gives each refused job its own time', async () => {
      const hourly: Limits = { interval: HOUR };
      const [first, ...others] = await ask('a b c', hourly);
      expect(first).toMatchObject({ kind: 'run' });
      const [second, third] = others.map((answer) => (answer as { ms: number }).ms / (HOUR / 1_000)) as [
        number,
        number,
      ];
      expect(second).toBeCloseTo(1, 2);
      expect(third).toBeCloseTo(2, 2);
      await expect(kinds('b', hourly)).resolves.toEqual(['rate']);
      expect((await usage()).turn / 1_000).toBeCloseTo(nowMs() + HOUR / 1_000, -5);
    });

    it('grants as many at once as the burst says', async () => {
      const burst: Limits = { interval: HOUR, burst: 3 };
      await expect(kinds('a b c d', burst)).resolves.toEqual(['run', 'run', 'run', 'rate']);
    });

    it('does not save up more than the burst', async () => {
      const quick: Limits = { interval: 1_000, burst: 2 };
      await ask('a', quick);
      await jobs.pass(60);
      const slow: Limits = { interval: HOUR, burst: 2 };
      await expect(kinds('b c d', slow)).resolves.toEqual(['run', 'run', 'rate']);
    });

    it('grants a run ahead of its turn as far as of its time, and says when it may begin', async () => {
      const { ahead } = jobs.tube;
      const asked = nowMs();
      const answers = await ask('a b c', { interval: 8_000 });
      const granted = answers.flatMap((answer) => (answer.kind === 'run' ? [answer] : []));
      expect(granted).toHaveLength(ahead > 0 ? 3 : 1);
      granted.slice(1).forEach(({ notBefore }, i) => {
        expect(notBefore).toBeGreaterThanOrEqual(asked + 8 * (i + 1) - SECOND);
        expect(notBefore).toBeLessThan(nowMs() + SECOND);
      });
    });

    it('counts no job that has nothing to run', async () => {
      const hourly: Limits = { interval: HOUR };
      const gone = await jobs.run({ id: 'gone' });
      await done(gone);
      await expect(kinds('gone a b', hourly)).resolves.toEqual(['gone', 'run', 'rate']);
    });

    it('holds for retries, too', async () => {
      const hourly: Limits = { interval: HOUR };
      const ref = await run('a', hourly);
      await complete(ref, { kind: 'retry', due: nowMs() - SECOND });
      await expect(kinds('a', hourly)).resolves.toEqual(['rate']);
    });

    it('survives a restart of the ledger', async () => {
      await ask('a', { interval: HOUR });
      await jobs.harness.close();
      await jobs.harness.open();
      const tube = jobs.harness.tube(jobs.tubeName);
      await tube.readTime();
      const { turn } = (await tube.ask('usage', [{}]))[0]!;
      // In memory, the turn is gone with its process.
      if (turn > 0)
        await expect(tube.claim([copy({ id: 'b' })], { limits: { interval: HOUR } })).resolves.toMatchObject([
          { kind: 'limited' },
        ]);
      expect(turn > 0).toBe(jobs.harness.survivesRestart);
    });
  });
});
