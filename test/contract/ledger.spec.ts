// Facts about every ledger: in memory, in Redis, and in a Redis Cluster.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type {
  ClaimAnswer,
  ClaimRequest,
  FinishRequest,
  RevokeRequest,
  RunRef,
  TubeLedger,
} from 'nest-dq/src/ledger/ledger.js';
import {
  clusterHarness,
  memoryHarness,
  redisHarness,
  SETTINGS,
  type LedgerHarness,
} from './ledger-harness.js';

const THREE = { mask: 0b111, unknown: false };
const MINUTE = 60_000;
/** The age of a generation whose commit is surely not under way any more. */
const OLD = 11_000;

describe.each([
  ['memory', memoryHarness],
  ['Redis', redisHarness],
  ['Redis Cluster', clusterHarness],
])('the ledger in %s', (_name, createHarness) => {
  let harness: LedgerHarness;
  let tube: TubeLedger;
  let tubeName: string;
  let tubes = 0;

  beforeAll(async () => {
    harness = await createHarness();
  }, 60_000);

  afterAll(() => harness.stop());

  beforeEach(async () => {
    await harness.open();
    tubeName = `orders.cancel;$(v${tubes++})`;
    tube = harness.tube(tubeName);
    await tube.readTime();
  });

  afterEach(() => harness.close());

  /** A claim of a job that is due: by enough that this process may be a little wrong about the server's time. */
  function copy(over: Partial<ClaimRequest> = {}): ClaimRequest {
    return { id: 'job', generation: 0, due: nowMs() - 1_000, token: 'a', attempts: 10, ...over };
  }

  async function claim(over: Partial<ClaimRequest> = {}): Promise<ClaimAnswer> {
    const [answer] = await tube.claim([copy(over)]);
    return answer!;
  }

  /** The run that such a claim is given. */
  async function run(over: Partial<ClaimRequest> = {}): Promise<RunRef> {
    const request = copy(over);
    const lastOk = tube.now();
    const [answer] = await tube.claim([request]);
    if (answer?.kind !== 'run') throw new Error(`claimed, and answered ${JSON.stringify(answer)}`);
    const { fence, attempt, due } = answer;
    return { id: request.id, generation: request.generation, due, fence, attempt, lastOk };
  }

  async function finish(ref: RunRef, outcome: FinishRequest['outcome'], owed: FinishRequest['owed'] = THREE) {
    const [answer] = await tube.finish([{ ...ref, owed, outcome }]);
    return answer!;
  }

  async function done(ref: RunRef) {
    return finish(ref, { kind: 'done' });
  }

  async function extend(ref: RunRef) {
    const [answer] = await tube.extend([ref]);
    return answer!;
  }

  async function revoke(over: Partial<RevokeRequest> = {}) {
    const request = { id: 'job', born: 0, due: Math.floor(tube.now()) + MINUTE, owed: THREE, ...over };
    const [answer] = await tube.revoke([request]);
    return answer!.result;
  }

  async function settle(mask: number, over: { unknown?: boolean; generation?: number } = {}) {
    await tube.settle([{ id: 'job', generation: 0, mask, unknown: false, ...over }]);
  }

  /** Ledger time now, in whole ms, for dues. */
  const nowMs = () => Math.floor(tube.now());
  /** The time passes by which the job is surely due. */
  const pass = (ms: number) => harness.until(tube, tube.now() + ms);
  /** Milliseconds until the record is forgotten. */
  const forgottenIn = () => harness.forgottenIn(tubeName, 'job');

  /** How long a record with copies left is kept, counted from the latest time in it. */
  const KEPT = SETTINGS.staleAfter + MINUTE;

  function expectAbout(actual: number | undefined, expected: number) {
    // A second for the calls in between, on a busy machine.
    expect(actual).toBeGreaterThan(expected - 5_000);
    expect(actual).toBeLessThanOrEqual(expected + 5);
  }

  describe('claim', () => {
    it('gives the run of a due job to one of many copies', async () => {
      const answers = await tube.claim([copy({ token: 'a' }), copy({ token: 'b' }), copy({ token: 'c' })]);
      expect(answers.map(({ kind }) => kind)).toEqual(['run', 'busy', 'busy']);
    });

    it('answers many jobs in their order', async () => {
      const later = nowMs() + MINUTE;
      const answers = await tube.claim([
        copy({ id: '1' }),
        copy({ id: '2', due: later }),
        copy({ id: '3' }),
        copy({ id: '1', token: 'b' }),
      ]);
      expect(answers.map(({ kind }) => kind)).toEqual(['run', 'wait', 'run', 'busy']);
    });

    it('answers nothing to nothing', async () => {
      await expect(tube.claim([])).resolves.toEqual([]);
      await expect(tube.finish([])).resolves.toEqual([]);
      await expect(tube.extend([])).resolves.toEqual([]);
      await expect(tube.revoke([])).resolves.toEqual([]);
      await expect(tube.settle([])).resolves.toBeUndefined();
    });

    it('keeps tubes and ids apart', async () => {
      const other = harness.tube(`${tubeName}2`);
      await expect(claim()).resolves.toMatchObject({ kind: 'run' });
      await expect(claim({ id: 'job2' })).resolves.toMatchObject({ kind: 'run' });
      await expect(other.claim([copy()])).resolves.toMatchObject([{ kind: 'run' }]);
    });

    it('tells when the run was due, and counts it', async () => {
      const due = nowMs() - 500;
      await expect(claim({ due })).resolves.toEqual({
        kind: 'run',
        due,
        attempt: 1,
        fence: expect.any(Number),
      });
    });

    it('never lets a job run before its time, and remembers nothing of one that waits', async () => {
      const due = nowMs() + MINUTE;
      const answer = await claim({ due });
      expect(answer.kind).toBe('wait');
      if (answer.kind === 'wait') expectAbout(answer.ms, MINUTE);
      await expect(forgottenIn()).resolves.toBeUndefined();
    });

    it('waits no longer than until the job is due', async () => {
      const due = nowMs() + 40;
      let answer = await claim({ due });
      for (let turns = 0; answer.kind === 'wait' && turns < 100; turns++) {
        await pass(answer.ms);
        answer = await claim({ due });
      }
      expect(answer).toMatchObject({ kind: 'run', due });
      expect(tube.now()).toBeGreaterThanOrEqual(due);
    });

    it('gives the same fence and attempt to the same token, with a renewed lease', async () => {
      const first = await claim();
      await pass(20);
      const left = await busyFor('other');
      await pass(20);
      await expect(claim()).resolves.toEqual(first);
      await expect(busyFor('other')).resolves.toBeGreaterThan(left - 20);
    });

    it('gives the same run to the same token also when its lease has lapsed meanwhile', async () => {
      const short = await harness.withLease(tubeName, 30);
      const request = copy({ attempts: 1 });
      const [first] = await short.claim([request]);
      await harness.until(short, short.now() + 40);
      await expect(short.claim([request])).resolves.toEqual([first]);
    });

    it('tells a busy job how long its lease lasts and how long it has run', async () => {
      await run();
      await pass(30);
      const answer = await claim({ token: 'b' });
      expect(answer.kind).toBe('busy');
      if (answer.kind !== 'busy') return;
      expectAbout(answer.ms, SETTINGS.lease - 30);
      expect(answer.ranFor).toBeGreaterThanOrEqual(29);
    });

    it('lets another run when the lease has lapsed, and counts the crash', async () => {
      const short = await harness.withLease(tubeName, 30);
      const [first] = await short.claim([copy()]);
      await harness.until(short, short.now() + 40);
      const [second] = await short.claim([copy({ token: 'b' })]);
      expect(second).toMatchObject({ kind: 'run', attempt: 2 });
      expect(fenceOf(second)).toBeGreaterThan(fenceOf(first));
    });

    it('makes fences of microseconds, exact to the last digit', async () => {
      const ref = await run();
      expect(Number.isSafeInteger(ref.fence)).toBe(true);
      expect(Math.abs(ref.fence / 1_000 - tube.now())).toBeLessThan(5_000);
      await expect(extend({ ...ref, fence: ref.fence - 1 })).resolves.toBe('refused');
      await expect(extend({ ...ref, fence: ref.fence + 1 })).resolves.toBe('refused');
      await expect(extend(ref)).resolves.toBe('ok');
    });

    it('makes a greater fence each time, within the same microsecond too', async () => {
      const first = await run();
      await finish(first, { kind: 'back' });
      const second = await run({ token: 'b' });
      expect(second.fence).toBeGreaterThan(first.fence);
    });

    it('makes a greater fence although the clock went back', async () => {
      await finish(await run(), { kind: 'back' });
      const fence = (nowMs() + MINUTE) * 1_000 + 999;
      await harness.overwrite(tubeName, 'job', { fence });
      await expect(claim({ token: 'b' })).resolves.toMatchObject({ kind: 'run', fence: fence + 1 });
    });

    it('makes a greater fence after everything was wiped', async () => {
      const { fence } = await run();
      await pass(1);
      await harness.wipe();
      expect((await run({ token: 'b' })).fence).toBeGreaterThan(fence);
    });

    it('answers gone to copies of a job that is done', async () => {
      await done(await run());
      await expect(claim({ token: 'b' })).resolves.toEqual({ kind: 'gone' });
    });

    it('makes a dead letter of a job whose attempts are used up, and tells so once', async () => {
      const ref = await run({ attempts: 1 });
      await finish(ref, { kind: 'retry', due: nowMs() - 1_000 });
      await expect(claim({ attempts: 1, token: 'b' })).resolves.toEqual({ kind: 'dead', fresh: true });
      await expect(claim({ attempts: 1, token: 'c' })).resolves.toEqual({ kind: 'dead', fresh: false });
      await expect(harness.letter(tubeName, 'job')).resolves.toMatchObject({ why: 'attempts' });
    });

    it('refuses what the last runner of such a job still sends', async () => {
      const short = await harness.withLease(tubeName, 30);
      const request = copy({ attempts: 1 });
      const [first] = await short.claim([request]);
      await harness.until(short, short.now() + 40);
      await expect(short.claim([{ ...request, token: 'b' }])).resolves.toEqual([
        { kind: 'dead', fresh: true },
      ]);
      const ref = {
        id: 'job',
        generation: 0,
        due: request.due,
        fence: fenceOf(first),
        attempt: 1,
        lastOk: tube.now(),
      };
      await expect(done(ref)).resolves.toBe('refused');
    });

    it('does not run a job that is overdue by more than staleAfter, once nothing is known of it', async () => {
      const due = nowMs() - SETTINGS.staleAfter - 1_000;
      await expect(claim({ due })).resolves.toEqual({ kind: 'stale' });
      await expect(claim({ due, token: 'b' })).resolves.toEqual({ kind: 'dead', fresh: false });
      await expect(harness.letter(tubeName, 'job')).resolves.toMatchObject({ why: 'stale' });
    });

    it('runs a job that is overdue by just less', async () => {
      await expect(claim({ due: nowMs() - SETTINGS.staleAfter + MINUTE })).resolves.toMatchObject({
        kind: 'run',
      });
    });

    it('does not call a job stale that has a record', async () => {
      const due = nowMs() - SETTINGS.staleAfter + MINUTE;
      await finish(await run({ due }), { kind: 'back' });
      await expect(claim({ due: due - 2 * MINUTE, token: 'b' })).resolves.toMatchObject({ kind: 'run' });
    });

    async function busyFor(token: string): Promise<number> {
      const answer = await claim({ token });
      if (answer.kind !== 'busy') throw new Error(`expected busy, got ${answer.kind}`);
      return answer.ms;
    }
  });

  describe('claim of a newer generation', () => {
    it('waits while its commit may still come, and asks again soon', async () => {
      await finish(await run(), { kind: 'back' });
      const generation = nowMs();
      await expect(claim({ generation })).resolves.toEqual({ kind: 'wait', ms: expect.any(Number) });
      const young = await claim({ generation });
      if (young.kind === 'wait') {
        expect(young.ms).toBeGreaterThanOrEqual(20);
        expect(young.ms).toBeLessThanOrEqual(500);
      }
      await expect(claim({ generation: nowMs() - 5_000 })).resolves.toEqual({ kind: 'wait', ms: 500 });
    });

    it('does not ask all the time for one that the clock has not reached', async () => {
      await expect(claim({ generation: nowMs() + 3_600_000 })).resolves.toEqual({ kind: 'wait', ms: 500 });
    });

    it('waits for it without any record too', async () => {
      await expect(claim({ generation: nowMs() - 5_000 })).resolves.toEqual({ kind: 'wait', ms: 500 });
      await expect(forgottenIn()).resolves.toBeUndefined();
    });

    it('commits it by running it, so that a lost commit loses no job', async () => {
      const first = await run();
      await finish(first, { kind: 'retry', due: nowMs() + MINUTE });
      const generation = nowMs() - OLD;
      const second = await run({ generation, token: 'b' });
      expect(second).toMatchObject({ attempt: 1 });
      expect(second.fence).toBeGreaterThan(first.fence);
      await expect(claim({ token: 'c' })).resolves.toEqual({ kind: 'gone' });
      await expect(claim({ generation, token: 'c' })).resolves.toMatchObject({ kind: 'busy' });
      await expect(done(second)).resolves.toBe('ok');
      await expect(claim({ generation, token: 'c' })).resolves.toEqual({ kind: 'gone' });
    });

    it('runs it although an older one is done', async () => {
      await done(await run());
      await expect(claim({ generation: nowMs() - OLD, token: 'b' })).resolves.toMatchObject({
        kind: 'run',
        attempt: 1,
      });
    });

    it('holds it back while an older one runs', async () => {
      await run();
      await expect(claim({ generation: nowMs() - OLD, token: 'b' })).resolves.toMatchObject({
        kind: 'busy',
      });
    });

    it('waits until it is due', async () => {
      const generation = nowMs() - OLD;
      await expect(claim({ generation, due: nowMs() + MINUTE })).resolves.toMatchObject({ kind: 'wait' });
    });

    it('refuses it if a revoke came after it was opened', async () => {
      await revoke();
      await expect(claim({ generation: nowMs() - OLD })).resolves.toEqual({ kind: 'gone' });
    });
  });

  describe('finish', () => {
    it('is idempotent', async () => {
      const ref = await run();
      await expect(done(ref)).resolves.toBe('ok');
      await expect(done(ref)).resolves.toBe('ok');
      await expect(finish(ref, { kind: 'retry', due: nowMs() })).resolves.toBe('ok');
      await expect(claim({ token: 'b' })).resolves.toEqual({ kind: 'gone' });
    });

    it('retries at the time said, and tells that time to the run', async () => {
      const ref = await run();
      const due = nowMs() + 30;
      await expect(finish(ref, { kind: 'retry', due })).resolves.toBe('ok');
      const early = await claim({ token: 'b' });
      if (early.kind === 'wait') await pass(early.ms + 30);
      await expect(claim({ token: 'b' })).resolves.toMatchObject({ kind: 'run', attempt: 2, due });
    });

    it('rounds a retry up to whole milliseconds', async () => {
      const ref = await run();
      const due = nowMs() - 1_000 + 0.25;
      await finish(ref, { kind: 'retry', due });
      await expect(claim({ token: 'b' })).resolves.toMatchObject({ kind: 'run', due: Math.ceil(due) });
    });

    it('gives an attempt back, and the job is due at once', async () => {
      const ref = await run();
      await expect(finish(ref, { kind: 'back' })).resolves.toBe('ok');
      await expect(claim({ token: 'b' })).resolves.toMatchObject({ kind: 'run', attempt: 1 });
    });

    it('gives no more attempts back than were counted', async () => {
      const ref = await run();
      await expect(finish(ref, { kind: 'back' })).resolves.toBe('ok');
      await expect(finish(ref, { kind: 'back' })).resolves.toBe('ok');
      await harness.wipe();
      await expect(finish({ ...ref, attempt: 0 }, { kind: 'back' })).resolves.toBe('ok');
      await expect(claim({ token: 'b' })).resolves.toMatchObject({ kind: 'run', attempt: 1 });
    });

    it('keeps why a job is dead, for ever, and lists it', async () => {
      const error = { name: 'PaymentError', message: 'no card “42”\n', stack: `at ${'x'.repeat(5_000)}` };
      const ref = await run();
      await expect(finish(ref, { kind: 'dead', death: { why: 'discarded', error } })).resolves.toBe('ok');
      await expect(claim({ token: 'b' })).resolves.toEqual({ kind: 'dead', fresh: false });
      const letter = await harness.letter(tubeName, 'job');
      expect(letter).toMatchObject({ why: 'discarded', error: { name: error.name, message: error.message } });
      expectAbout(letter!.died, tube.now());
      await expect(forgottenIn()).resolves.toBe(Infinity);
    });

    it('is refused once another run has taken over', async () => {
      const short = await harness.withLease(tubeName, 30);
      const [first] = await short.claim([copy()]);
      await harness.until(short, short.now() + 40);
      const second = await run({ token: 'b' });
      const late = { ...second, fence: fenceOf(first), attempt: 1 };
      await expect(done(late)).resolves.toBe('refused');
      await expect(extend(late)).resolves.toBe('refused');
      await expect(done(second)).resolves.toBe('ok');
    });

    it('is accepted without a record while the last OK is young, and remembered', async () => {
      const ref = await run();
      await harness.wipe();
      await expect(done(ref)).resolves.toBe('ok');
      await expect(claim({ token: 'b' })).resolves.toEqual({ kind: 'gone' });
    });

    it('lets a retry survive the loss of its record', async () => {
      const ref = await run();
      await harness.wipe();
      await expect(finish(ref, { kind: 'retry', due: nowMs() + MINUTE })).resolves.toBe('ok');
      await expect(claim({ token: 'b' })).resolves.toMatchObject({ kind: 'wait' });
      await expect(done({ ...ref, fence: ref.fence - 1 })).resolves.toBe('refused');
      await harness.wipe();
      await finish(ref, { kind: 'retry', due: nowMs() - 1_000 });
      const again = await run({ token: 'b' });
      expect(again.attempt).toBe(2);
      expect(again.fence).toBeGreaterThan(ref.fence);
    });

    it('is refused without a record once the last OK is older than an end is remembered', async () => {
      const ref = await run();
      await harness.wipe();
      const old = { ...ref, lastOk: tube.now() - SETTINGS.doneTtl - 5 };
      await expect(done(old)).resolves.toBe('refused');
      await expect(extend(old)).resolves.toBe('refused');
      await expect(forgottenIn()).resolves.toBeUndefined();
    });
  });

  describe('extend', () => {
    it('renews the lease', async () => {
      const ref = await run();
      await pass(50);
      await expect(extend(ref)).resolves.toBe('ok');
      const answer = await claim({ token: 'b' });
      if (answer.kind === 'busy') expectAbout(answer.ms, SETTINGS.lease);
      expect(answer).toMatchObject({ kind: 'busy' });
    });

    it('renews a lapsed lease that nobody has taken over', async () => {
      const short = await harness.withLease(tubeName, 30);
      const request = copy();
      const [answer] = await short.claim([request]);
      await harness.until(short, short.now() + 40);
      const ref = {
        id: 'job',
        generation: 0,
        due: request.due,
        fence: fenceOf(answer),
        attempt: 1,
        lastOk: tube.now(),
      };
      await expect(extend(ref)).resolves.toBe('ok');
      await expect(claim({ token: 'b' })).resolves.toMatchObject({ kind: 'busy' });
    });

    it('is refused once the run has ended', async () => {
      const ref = await run();
      await done(ref);
      await expect(extend(ref)).resolves.toBe('refused');
    });

    it('makes a record anew that was lost, so that nobody else starts', async () => {
      const ref = await run();
      await harness.wipe();
      await expect(extend(ref)).resolves.toBe('ok');
      await expect(claim({ token: 'b' })).resolves.toMatchObject({ kind: 'busy' });
      await expect(finish(ref, { kind: 'retry', due: nowMs() - 1_000 })).resolves.toBe('ok');
      await expect(claim({ token: 'b' })).resolves.toMatchObject({ kind: 'run', attempt: 2 });
    });
  });

  describe('revoke', () => {
    it('revokes a job that waits for its time, of which nothing is known yet', async () => {
      const due = nowMs() + MINUTE;
      await expect(revoke({ due })).resolves.toBe('revoked');
      await expect(revoke({ due })).resolves.toBe('revoked');
      await expect(claim({ due })).resolves.toEqual({ kind: 'gone' });
      await expect(claim()).resolves.toEqual({ kind: 'gone' });
    });

    it('revokes a job that is overdue, while its end would still be remembered', async () => {
      const due = nowMs() - SETTINGS.doneTtl + MINUTE;
      await expect(revoke({ due })).resolves.toBe('revoked');
      await expect(claim({ due })).resolves.toEqual({ kind: 'gone' });
    });

    it('cannot tell what became of a job whose end may be forgotten, yet lets it not start', async () => {
      const due = nowMs() - SETTINGS.doneTtl - 1_000;
      await expect(revoke({ due })).resolves.toBe('unknown');
      await expect(revoke({ due })).resolves.toBe('unknown');
      await expect(claim({ due })).resolves.toEqual({ kind: 'gone' });
    });

    it('revokes a job that waits for a retry', async () => {
      await finish(await run(), { kind: 'retry', due: nowMs() + MINUTE });
      await expect(revoke()).resolves.toBe('revoked');
      await expect(claim({ token: 'b' })).resolves.toEqual({ kind: 'gone' });
    });

    it('lets a running job go on, and nothing follows it', async () => {
      const ref = await run();
      await expect(revoke()).resolves.toBe('running');
      await expect(revoke()).resolves.toBe('running');
      await expect(extend(ref)).resolves.toBe('ok');
      await expect(claim({ token: 'b' })).resolves.toMatchObject({ kind: 'busy' });
      await expect(finish(ref, { kind: 'retry', due: nowMs() - 1_000 })).resolves.toBe('revoked');
      await expect(finish(ref, { kind: 'retry', due: nowMs() - 1_000 })).resolves.toBe('revoked');
      await expect(claim({ token: 'b' })).resolves.toEqual({ kind: 'gone' });
      await expect(revoke()).resolves.toBe('revoked');
    });

    it('lets the run of a later generation go on as well', async () => {
      const generation = nowMs() - OLD;
      const ref = await run({ generation });
      await expect(revoke({ born: generation })).resolves.toBe('running');
      await expect(run({ generation })).resolves.toMatchObject({ fence: ref.fence, attempt: 1 });
      await expect(claim({ generation, token: 'b' })).resolves.toMatchObject({ kind: 'busy' });
      await expect(finish(ref, { kind: 'back' })).resolves.toBe('revoked');
      await expect(claim({ generation, token: 'b' })).resolves.toEqual({ kind: 'gone' });
    });

    it('lets no run that was given back start again', async () => {
      const ref = await run();
      await revoke();
      await expect(finish(ref, { kind: 'back' })).resolves.toBe('revoked');
      await expect(claim({ token: 'b' })).resolves.toEqual({ kind: 'gone' });
    });

    it('lets a running job be done or dead', async () => {
      const first = await run({ id: '1' });
      const second = await run({ id: '2' });
      await revoke({ id: '1' });
      await revoke({ id: '2' });
      await expect(done(first)).resolves.toBe('ok');
      await expect(finish(second, { kind: 'dead', death: { why: 'discarded' } })).resolves.toBe('ok');
      await expect(revoke({ id: '1' })).resolves.toBe('done');
      await expect(revoke({ id: '2' })).resolves.toBe('dead');
    });

    it('answers a claim that is repeated under it as before', async () => {
      const first = await claim();
      await revoke();
      await expect(claim()).resolves.toEqual(first);
    });

    it('lets a job not start again whose runner was lost under it', async () => {
      const short = await harness.withLease(tubeName, 40);
      const [answer] = await short.claim([copy()]);
      expect(answer?.kind).toBe('run');
      // In real time the lease may be over already: then the job is revoked at once, and the rest holds as well.
      const [{ result } = { result: undefined }] = await short.revoke([
        { id: 'job', born: 0, due: nowMs(), owed: THREE },
      ]);
      expect(['running', 'revoked']).toContain(result);
      await harness.until(short, short.now() + 50);
      await expect(claim({ token: 'a' })).resolves.toEqual({ kind: 'gone' });
      await expect(claim({ token: 'b' })).resolves.toEqual({ kind: 'gone' });
      await expect(revoke()).resolves.toBe('revoked');
    });

    it('revokes a job whose lease has lapsed, and refuses nothing to its late runner but its outcome', async () => {
      const short = await harness.withLease(tubeName, 30);
      const request = copy();
      const [answer] = await short.claim([request]);
      await harness.until(short, short.now() + 40);
      await expect(revoke()).resolves.toBe('revoked');
      const ref = {
        id: 'job',
        generation: 0,
        due: request.due,
        fence: fenceOf(answer),
        attempt: 1,
        lastOk: tube.now(),
      };
      await expect(extend(ref)).resolves.toBe('refused');
      await expect(done(ref)).resolves.toBe('revoked');
    });

    it('covers what was opened before, also while an older run goes on', async () => {
      const generation = nowMs() - OLD;
      const ref = await run();
      await revoke();
      await done(ref);
      await expect(claim({ generation, token: 'b' })).resolves.toEqual({ kind: 'gone' });
    });

    it('covers what was opened by a clock ahead of the server’s', async () => {
      await finish(await run(), { kind: 'back' });
      const opened = nowMs() + MINUTE;
      await harness.overwrite(tubeName, 'job', { opened, committed: 5 });
      await expect(revoke()).resolves.toBe('revoked');
      await expect(claim({ generation: opened })).resolves.toEqual({ kind: 'gone' });
      await expect(claim({ generation: opened + 1 })).resolves.toMatchObject({ kind: 'wait' });
    });

    it('changes nothing of a job that was born otherwise', async () => {
      await finish(await run(), { kind: 'back' });
      await expect(revoke({ born: nowMs() - MINUTE })).resolves.toBe('unknown');
      await expect(claim({ token: 'b' })).resolves.toMatchObject({ kind: 'run' });
    });

    it('answers many jobs in their order', async () => {
      await done(await run({ id: '1' }));
      const due = nowMs() + MINUTE;
      const ask = (id: string) => ({ id, born: 0, due, owed: THREE });
      await expect(tube.revoke([ask('2'), ask('1')])).resolves.toEqual([
        { result: 'revoked' },
        { result: 'done' },
      ]);
    });
  });

  describe('a run that was replaced', () => {
    const GENERATION = 1_000;
    let ref: RunRef;

    beforeEach(async () => {
      ref = await run();
      const holdEnd = nowMs() + SETTINGS.lease;
      await harness.overwrite(tubeName, 'job', {
        state: 'waiting',
        committed: GENERATION,
        leaseEnd: 0,
        holdEnd,
      });
    });

    it('holds its successor back until it is finished, whatever its outcome', async () => {
      await expect(claim({ generation: GENERATION, token: 'b' })).resolves.toMatchObject({ kind: 'busy' });
      await expect(finish(ref, { kind: 'retry', due: nowMs() + MINUTE })).resolves.toBe('ok');
      await expect(finish(ref, { kind: 'retry', due: nowMs() + MINUTE })).resolves.toBe('ok');
      const next = await run({ generation: GENERATION, token: 'b' });
      expect(next.fence).toBeGreaterThan(ref.fence);
      await expect(done(ref)).resolves.toBe('refused');
    });

    it('keeps holding it back while it extends', async () => {
      await pass(50);
      await expect(extend(ref)).resolves.toBe('ok');
      const answer = await claim({ generation: GENERATION, token: 'b' });
      expect(answer.kind).toBe('busy');
      if (answer.kind === 'busy') expectAbout(answer.ms, SETTINGS.lease);
    });

    it('holds it back no longer than its lease', async () => {
      await harness.overwrite(tubeName, 'job', { holdEnd: nowMs() - 1_000 });
      await expect(claim({ generation: GENERATION, token: 'b' })).resolves.toMatchObject({ kind: 'run' });
    });

    it('has copies that are gone', async () => {
      await expect(claim({ token: 'b' })).resolves.toEqual({ kind: 'gone' });
    });

    it('goes on under a revoke, which lets its successor never start', async () => {
      await expect(revoke()).resolves.toBe('running');
      await expect(extend(ref)).resolves.toBe('ok');
      await expect(done(ref)).resolves.toBe('ok');
      await expect(claim({ generation: GENERATION, token: 'b' })).resolves.toEqual({ kind: 'gone' });
      await expect(revoke()).resolves.toBe('revoked');
    });
  });

  it('answers gone to copies of an aborted generation, and of no other', async () => {
    const generation = nowMs() - 20_000;
    await finish(await run(), { kind: 'back' });
    await harness.overwrite(tubeName, 'job', { aborted: [generation - 1, generation] });
    await expect(claim({ generation, token: 'b' })).resolves.toEqual({ kind: 'gone' });
    await expect(claim({ generation: generation + 1, token: 'b' })).resolves.toMatchObject({ kind: 'run' });
  });

  describe('the record', () => {
    it('of a run is kept for the longest time', async () => {
      await run();
      expectAbout(await forgottenIn(), SETTINGS.lease + KEPT);
    });

    it('is forgotten soon after the end once every copy is settled, and not before', async () => {
      await done(await run());
      expectAbout(await forgottenIn(), KEPT);
      await settle(0b011);
      expectAbout(await forgottenIn(), KEPT);
      await settle(0b100);
      expectAbout(await forgottenIn(), SETTINGS.doneTtl);
    });

    it('is kept while a copy of unknown fate may exist, whatever is settled', async () => {
      await finish(await run(), { kind: 'done' }, { mask: 0b11, unknown: true });
      await settle(0b11);
      expectAbout(await forgottenIn(), KEPT);
    });

    it('learns of a copy of unknown fate from a settle', async () => {
      await done(await run());
      await settle(0b111, { unknown: true });
      expectAbout(await forgottenIn(), KEPT);
      await settle(0b111);
      expectAbout(await forgottenIn(), KEPT);
    });

    it('does not forget it when a run ends that does not know of it', async () => {
      await finish(await run(), { kind: 'retry', due: nowMs() - 1_000 });
      await settle(0b001, { unknown: true });
      await done(await run({ token: 'b' }));
      await settle(0b111);
      expectAbout(await forgottenIn(), KEPT);
    });

    it('learns of one of another generation too', async () => {
      await finish(await run(), { kind: 'done' }, { mask: 0, unknown: false });
      expectAbout(await forgottenIn(), SETTINGS.doneTtl);
      await settle(0b1, { generation: 7 });
      expectAbout(await forgottenIn(), SETTINGS.doneTtl);
      await settle(0b1, { generation: 7, unknown: true });
      expectAbout(await forgottenIn(), KEPT);
    });

    it('is settled along with claims', async () => {
      await done(await run());
      await tube.claim([copy({ id: 'next' })], [{ id: 'job', generation: 0, mask: 0b111, unknown: false }]);
      expectAbout(await forgottenIn(), SETTINGS.doneTtl);
      await tube.claim([], [{ id: 'job', generation: 0, mask: 0b111, unknown: true }]);
      expectAbout(await forgottenIn(), KEPT);
    });

    it('is not made by a settle', async () => {
      await settle(0b1, { unknown: true });
      await expect(forgottenIn()).resolves.toBeUndefined();
    });

    it('of a retry is kept until long after it is due', async () => {
      await finish(await run(), { kind: 'retry', due: nowMs() + 5 * MINUTE });
      expectAbout(await forgottenIn(), 5 * MINUTE + KEPT);
    });

    it('does not take copies back that were settled before the run ended', async () => {
      const ref = await run();
      await revoke();
      await settle(0b111 & ~0b001);
      await done(ref);
      expectAbout(await forgottenIn(), MINUTE + KEPT);
      await settle(0b001);
      expectAbout(await forgottenIn(), SETTINGS.doneTtl);
    });

    it('of a revoked job is kept until its copies are settled, or long after they come due', async () => {
      await revoke({ due: nowMs() + 30 * MINUTE });
      expectAbout(await forgottenIn(), 30 * MINUTE + KEPT);
      await settle(0b111);
      expectAbout(await forgottenIn(), SETTINGS.doneTtl);
    });

    it('of a job that was revoked too late is kept as well', async () => {
      await expect(revoke({ due: nowMs() - SETTINGS.doneTtl })).resolves.toBe('unknown');
      expectAbout(await forgottenIn(), KEPT);
      await settle(0b111);
      expectAbout(await forgottenIn(), SETTINGS.doneTtl);
    });

    it('of a revoke of which no copy can be left is forgotten soon', async () => {
      await revoke({ owed: { mask: 0, unknown: false } });
      expectAbout(await forgottenIn(), SETTINGS.doneTtl);
    });

    it('of a newer generation still owes the copies of the older', async () => {
      const first = await run();
      await finish(first, { kind: 'retry', due: nowMs() - 1_000 });
      const generation = nowMs() - OLD;
      const second = await run({ generation, token: 'b' });
      await finish(second, { kind: 'done' });
      await settle(0b111, { generation });
      expectAbout(await forgottenIn(), KEPT);
      await settle(0b111);
      expectAbout(await forgottenIn(), SETTINGS.doneTtl);
    });
  });

  it('fails all calls once it is closed', async () => {
    await harness.close();
    await expect(claim()).rejects.toMatchObject({ code: 'DQ_CLOSED' });
    await expect(tube.readTime()).rejects.toMatchObject({ code: 'DQ_CLOSED' });
    await harness.close();
  });

  it('is not away while it answers', () => {
    expect(tube.away).toBe(false);
  });
});

function fenceOf(answer: ClaimAnswer | undefined): number {
  if (answer?.kind !== 'run') throw new Error(`expected a run, got ${answer?.kind}`);
  return answer.fence;
}
