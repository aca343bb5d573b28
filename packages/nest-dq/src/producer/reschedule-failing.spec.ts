import { describe, expect, it } from '@jest/globals';
import { failure, scripted } from '../../spec-support/producing.js';
import { KINDS, waiting, generations } from '../../spec-support/waiting-job.js';

describe('reschedule when no copy is in reach', () => {
  it.each(['claimed before', 'keyed'] as const)('fails, and writes nothing: %s', async (kind) => {
    const { producer, ref, cut, restore, after, ledger, schedule, copies, old } = await waiting(kind);
    const before = await schedule();
    await cut(0, 1, 2);
    const error = await failure(after(2_000, producer.reschedule(ref, { delay: '5m' })));
    expect(error).toMatchObject({ code: 'DQ_NO_COPY', indeterminate: false });
    expect(error.message).toMatch(/is unchanged: expected a copy at n\d:1#.*n\d:1#.*n\d:1#/);
    expect(new Set(ledger.asked)).toEqual(new Set(['find']));
    await restore();
    expect([await schedule(), (await copies()).map(({ copyId }) => copyId)]).toEqual([
      before,
      old.map(({ copyId }) => copyId),
    ]);
    expect(await producer.reschedule(ref, { delay: '5m' })).toBe('rescheduled');
  });

  it('does not know a plain job without a record', async () => {
    const { producer, ref, cut, after, memory } = await waiting('plain');
    await cut(0, 1, 2);
    expect(await after(2_000, producer.reschedule(ref, { delay: '5m' }))).toBe('unknown');
    expect(memory.tube('t').records.byId.size).toBe(0);
  });

  it.each(KINDS)('needs only one of them: %s', async (kind) => {
    const { producer, ref, nodes, after, copies, clock, old } = await waiting(kind);
    // Two copies are lost for good.
    for (const { node, copyId } of old.slice(0, 2)) {
      const lane = nodes[node]!.connectLane(() => undefined)!;
      await lane.ask((done) => lane.delete(copyId, done));
      lane.close();
    }
    expect(await after(2_000, producer.reschedule(ref, { delay: '5m' }))).toBe('rescheduled');
    await clock.advance(0);
    expect((await copies()).map(({ payload }) => payload)).toEqual(['old', 'old', 'old']);
  });
});

describe('reschedule on too few nodes', () => {
  it.each(KINDS)('fails, and leaves the job as it was: %s', async (kind) => {
    const { producer, ref, cut, restore, after, schedule, copies, run, claim, old, clock } =
      await waiting(kind);
    await cut(1, 2);
    const error = await failure(after(2_000, producer.reschedule(ref, { delay: 1 })));
    expect(error).toMatchObject({ code: 'DQ_TOO_FEW_COPIES', indeterminate: false });
    expect(error.message).toMatch(/; the job is unchanged$/);
    await restore();
    expect((await copies()).map(({ copyId }) => copyId)).toEqual(old.map(({ copyId }) => copyId));
    expect(await schedule()).toMatchObject({ state: 'waiting', generation: old[0]!.header.generation });
    await clock.advance(10_000);
    expect((await run(old[0]!)).attempt).toBe(kind === 'claimed before' ? 2 : 1);
    expect((await claim(old[1]!)).kind).toBe('busy');
  });

  it.each(['lost', 'unanswered'] as const)(
    'may be moved when a copy is out of sight: abort %s',
    async (fault) => {
      const { producer, servers, ledger, after, puts, claim, clock } = await scripted();
      const receipt = await producer.delay('t', 'old', '1h');
      const { envelope: old } = puts()[0]!;
      const bodies = new Map(servers.map((server) => [server, server.arrived.at(-1)!.body]));
      for (const server of servers) {
        server.answers['peek'] = () =>
          `FOUND 1 ${bodies.get(server)!.length}\r\n${bodies.get(server)!.toString()}`;
      }
      for (const server of servers.slice(1)) server.answers['put'] = () => undefined;
      ledger.fail('abort', fault);
      const error = await failure(after(2_000, producer.reschedule(receipt, { delay: '1s' })));
      expect(error).toMatchObject({ code: 'DQ_TOO_FEW_COPIES', indeterminate: true });
      expect(error.message).toMatch(/; the job may have been moved$/);
      await clock.advance(10_000);
      const moved = puts().find(({ envelope }) => envelope.header.generation > 0)!;
      // And so it is: by a claim that adopts it, unless the abort was done.
      expect((await claim(moved.envelope)).kind).toBe(fault === 'lost' ? 'run' : 'gone');
      expect((await claim({ header: old.header })).kind).toBe(fault === 'lost' ? 'gone' : 'wait');
    },
  );
});

describe('reschedule while the ledger fails', () => {
  it.each<['find' | 'open', 'lost' | 'unanswered']>([
    ['find', 'lost'],
    ['open', 'lost'],
    ['open', 'unanswered'],
  ])('changes nothing when its %s is %s', async (call, fault) => {
    for (const kind of KINDS) {
      const { producer, ref, ledger, copies, old, claim, clock } = await waiting(kind);
      ledger.fail(call, fault);
      const error = await failure(producer.reschedule(ref, { delay: '5m' }));
      expect(error).toMatchObject({ code: 'DQ_LEDGER_DOWN', indeterminate: false });
      expect(await copies()).toEqual(old);
      await clock.advance(10_000);
      expect((await claim(old[0]!)).kind).toBe('run');
    }
  });

  it.each([['lost'], ['unanswered'], ['unanswered', 'lost']] as const)(
    'takes effect once when its commit is %s first',
    async (...faults) => {
      for (const kind of KINDS) {
        const { producer, ref, ledger, copies, after, schedule, old, claim } = await waiting(kind);
        ledger.fail('commit', ...faults);
        expect(await after(2_000, producer.reschedule(ref, { delay: '5m' }))).toBe('rescheduled');
        expect(generations(await copies())).toEqual(Array(3).fill((await schedule())!.generation));
        expect(await claim(old[0]!)).toEqual({ kind: 'gone' });
      }
    },
  );

  it('is indeterminate when its commit got no answer three times, and deletes nothing', async () => {
    for (const kind of KINDS) {
      const { producer, ref, ledger, copies, after, claim, clock } = await waiting(kind);
      ledger.fail('commit', 'lost', 'lost', 'lost');
      const error = await failure(after(2_000, producer.reschedule(ref, { delay: 1 })));
      expect(error).toMatchObject({ code: 'DQ_LEDGER_DOWN', indeterminate: true });
      const all = await copies();
      expect(all).toHaveLength(6);
      await clock.advance(10_000);
      // The new generation is adopted by the first claim that finds it ten seconds old.
      expect((await claim(all[3]!)).kind).toBe('run');
      expect(await claim(all[0]!)).toEqual({ kind: 'gone' });
    }
  });
});
