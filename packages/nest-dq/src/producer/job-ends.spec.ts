import { describe, expect, it } from '@jest/globals';
import { embedded, failure } from '../../spec-support/producing.js';
import type { DqError } from '../errors.js';
import type { JobEnd } from '../api/job-end.js';

const KEPT = {
  run: { took: 3, attempt: 1, process: 'host:7', result: '{"paid":true}' },
  period: 3_600_000,
  max: 10,
};

/** The result of a call so far. */
function watched(call: Promise<JobEnd>) {
  const state: { end?: JobEnd; error?: DqError } = {};
  call.then(
    (end) => (state.end = end),
    (error: DqError) => (state.error = error),
  );
  return state;
}

async function withJob(options: { key?: string } = {}, delay = 60_000) {
  const world = await embedded();
  const receipt = await world.producer.delay('t', 1, delay, options);
  const [primary] = await world.copies();
  world.ledger.asked.length = 0;
  const due = async () => world.clock.advance(receipt.dueAt.getTime() - world.clock.wall());
  return Object.assign(world, { receipt, primary: primary!, due });
}

describe('finished', () => {
  it.each([{}, { key: 'k' }])(
    'resolves with the end of a job that waits, runs and is done %j',
    async (options) => {
      const { producer, receipt, primary, run, clock, due } = await withJob(options);
      const call = watched(producer.finished(receipt, { timeout: '2h' }));
      await due();
      const first = await run(primary);
      await clock.advance(10_000);
      await first.finish('retry', { due: clock.wall() + 5_000 });
      await clock.advance(6_000);
      const second = await run(primary);
      await clock.advance(1_000);
      expect(call).toEqual({});
      const endedAt = new Date(clock.wall());
      const born = primary.header.born;
      await second.finish('done', {
        kept: { ...KEPT, run: { ...KEPT.run, attempt: 2, ...(born > 0 && { born }) } },
      });
      await clock.advance(1_000);
      const { id } = receipt;
      const end = { outcome: 'done', id, tube: 't', ...options, attempt: 2, endedAt, result: { paid: true } };
      expect(call).toEqual({ end });
      expect(await producer.finished(receipt)).toEqual(end);
      if (options.key) expect(await producer.tube('t').finished({ key: 'k' })).toEqual(end);
      else expect(await producer.finished({ tube: 't', id })).toEqual(end);
    },
  );

  it('has no result that isn’t kept, or is another job’s', async () => {
    const { producer, receipt, primary, run, due, copies } = await withJob({ key: 'k' });
    await due();
    await (
      await run(primary)
    ).finish('done', { kept: { ...KEPT, run: { ...KEPT.run, born: primary.header.born } } });
    const next = await producer.now('t', 2, { key: 'k' });
    const copy = (await copies()).find(({ header }) => header.born > primary.header.born);
    await (await run(copy!)).finish('done');
    const { id } = receipt;
    expect(await producer.finished(next)).toEqual({ outcome: 'done', id, tube: 't', key: 'k', attempt: 1 });
    expect(await producer.finished(receipt)).toMatchObject({ outcome: 'done', result: { paid: true } });
  });

  it('tells a dead letter, a revoked, an expired and a replaced job apart', async () => {
    const { producer, receipt, primary, run, due, clock, memory } = await withJob({ key: 'dies' });
    const all = await Promise.all(
      ['revoked', 'expired', 'replaced'].map((key) => producer.delay('t', 1, '2m', { key })),
    );
    const calls = [receipt, ...all].map((each) => watched(producer.finished(each, { timeout: '1h' })));
    await due();
    const error = { name: 'Error', message: 'no' };
    const died = new Date(clock.wall());
    await (await run(primary)).finish('dead', { death: { why: 'discarded', error } });
    await producer.revoke(all[0]!);
    const [, expired] = all;
    const [found] = await memory.tube('t').find([expired!.id]);
    const { born, generation, due: at } = found!;
    await clock.advance(60_000);
    const owed = { mask: 7, unknown: false };
    const claim = { id: expired!.id, born, generation, due: at, token: 'x', attempts: 3 };
    await memory.tube('t').claim([{ ...claim, expiry: { startBy: at, letter: false, owed } }]);
    await producer.now('t', 1, { key: 'replaced' });
    await clock.advance(1_000);
    const base = (i: number) => ({ id: [receipt, ...all][i]!.id, tube: 't', key: [receipt, ...all][i]!.key });
    expect(calls.map(({ end }) => end)).toEqual([
      { ...base(0), outcome: 'dead', attempt: 1, endedAt: died, why: 'discarded', error },
      { ...base(1), outcome: 'revoked' },
      { ...base(2), outcome: 'expired' },
      { ...base(3), outcome: 'replaced' },
    ]);
  });

  it('looks rarely before the job is due, often at first, then less and less, all jobs of a tube in one call', async () => {
    const { producer, receipt, primary, run, due, clock, ledger } = await withJob();
    const others = await Promise.all([1, 2].map(() => producer.delay('t', 1, 60_000)));
    ledger.asked.length = 0;
    for (const each of [receipt, ...others])
      void producer.finished(each, { timeout: '1h' }).catch(() => undefined);
    await clock.advance(0);
    const looks = () => ledger.asked.splice(0).filter((verb) => verb === 'find').length;
    expect(looks()).toBe(2); // the second one with the copies
    await clock.advance(30_000);
    expect(looks()).toBeLessThanOrEqual(7);
    await due();
    await run(primary);
    looks();
    await clock.advance(200);
    expect(looks()).toBeGreaterThanOrEqual(4);
    await clock.advance(60_000);
    looks();
    await clock.advance(60_000);
    expect(looks()).toBeLessThanOrEqual(130); // one that runs, and two that are due
  });

  it('rejects at its timeout, with what is known', async () => {
    const { producer, receipt, clock, ledger } = await withJob();
    const due = receipt.dueAt.toISOString();
    const call = watched(producer.finished(receipt, { timeout: '30s' }));
    await clock.advance(29_000);
    expect(call).toEqual({});
    await clock.advance(1_000);
    const fact = `job "${receipt.id}" of "t" has not ended within 30000 ms: it is waiting, due ${due}`;
    expect(call.error?.message).toBe(`DQ_NOT_FINISHED: ${fact}`);
    ledger.down = true;
    const unheard = watched(producer.finished(receipt));
    await clock.advance(60_000);
    expect(unheard.error?.message).toMatch(/^DQ_NOT_FINISHED: .* within 60000 ms: Redis did not answer/);
  });

  it('continues when the ledger is away for a while', async () => {
    const { producer, receipt, primary, run, due, clock, ledger } = await withJob();
    const call = watched(producer.finished(receipt, { timeout: '1h' }));
    await due();
    ledger.down = true;
    await (await run(primary)).finish('done');
    await clock.advance(10_000);
    expect(call).toEqual({});
    ledger.down = false;
    await clock.advance(1_000);
    expect(call.end).toMatchObject({ outcome: 'done' });
  });

  it('rejects if nobody knows the job, but not while a node that may have a copy is away', async () => {
    const { producer, receipt, clock, cut, restore, copies, nodes } = await withJob();
    const never = watched(producer.finished({ tube: 't', key: 'never' }));
    await clock.advance(1_100);
    expect(never.error?.message).toMatch(/^DQ_UNKNOWN_JOB: no job "never" of "t" is known/);
    for (const { node, copyId } of await copies()) {
      if (node === 2) continue;
      const lane = nodes[node]!.connectLane(() => undefined)!;
      await lane.ask((done) => lane.delete(copyId, done));
      lane.close();
    }
    await cut(2);
    const call = watched(producer.finished(receipt, { timeout: '1h' }));
    await clock.advance(20_000);
    expect(call).toEqual({});
    await restore();
    await clock.advance(5_000);
    await producer.revoke(receipt);
    await clock.advance(5_000);
    expect(call.end).toMatchObject({ outcome: 'revoked' });
  });

  it('rejects once the module is closed, and when its signal aborts', async () => {
    const { producer, receipt, clock } = await withJob();
    const aborting = new AbortController();
    const aborted = watched(producer.finished(receipt, { signal: aborting.signal }));
    const closed = watched(producer.finished(receipt));
    await clock.advance(100);
    aborting.abort(new Error('enough'));
    await clock.advance(0);
    expect([aborted, closed]).toEqual([{ error: new Error('enough') }, {}]);
    await expect(producer.finished(receipt, { signal: aborting.signal })).rejects.toThrow('enough');
    const closing = producer.close();
    await clock.advance(1_000);
    await closing;
    expect(closed.error).toMatchObject({ code: 'DQ_CLOSED' });
    expect(await failure(producer.finished(receipt))).toMatchObject({ code: 'DQ_CLOSED' });
  });

  it.each([
    [{ timeout: 'soon' }, 'DQ_BAD_DURATION', '`timeout`'],
    [{ signal: 1 }, 'DQ_BAD_OPTION', '`signal` is 1: expected an AbortSignal'],
    [{ patience: 0 }, 'DQ_BAD_OPTION', '"patience" in the finished options: expected one of timeout, signal'],
  ])('refuses the options %j', async (options, code, message) => {
    const { producer, receipt } = await withJob();
    const error = await failure(producer.finished(receipt, options as object));
    expect([error.code, error.message]).toEqual([code, expect.stringContaining(message)]);
  });
});
