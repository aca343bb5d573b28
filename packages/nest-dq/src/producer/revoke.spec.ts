import { describe, expect, it } from '@jest/globals';
import type { Connection, Reserved } from '../beanstalk/connection.js';
import { InProcessNode } from '../embedded/in-process-node.js';
import { parseRef } from '../copies/job-ref.js';
import type { JobReceipt, JobRef } from '../api/job.js';
import { embedded, failure, scripted } from '../../spec-support/producing.js';

const KEY = { tube: 't', key: 'k' };

describe('revoke', () => {
  it('decides in the ledger, and deletes every copy after the answer', async () => {
    const { producer, ledger, copies, claim } = await embedded();
    const receipt = await producer.delay('t', 1, '1m');
    const before = await copies();
    let atDecision = 0;
    ledger.acted = async () => void (atDecision = (await copies()).length);
    expect(await producer.revoke(receipt)).toBe('revoked');
    expect([atDecision, (await copies()).length]).toEqual([3, 0]);
    expect(await claim(before[0]!)).toEqual({ kind: 'gone' });
  });

  it('answers although no node answers the deletions, which were asked for', async () => {
    const { producer, servers, words, clock } = await scripted();
    const receipt = await producer.delay('t', 1, '1m');
    for (const server of servers) server.freeze();
    expect(await producer.revoke(receipt)).toBe('revoked');
    for (const server of servers) server.thaw();
    await clock.advance(0);
    expect(words().filter((word) => word === 'delete')).toHaveLength(3);
  });

  it.each<[string, boolean]>([
    ['once every copy is deleted', true],
    ['once a node that does not answer is found away', false],
  ])('answers only %s, if it should be confirmed', async (_when, thaws) => {
    const { producer, servers, clock } = await scripted();
    const receipt = await producer.delay('t', 1, '1m');
    servers[0]!.freeze();
    const answers: string[] = [];
    const revoking = producer.revoke(receipt, { confirmed: true }).then((result) => answers.push(result));
    await clock.advance(400);
    expect(answers).toEqual([]);
    if (thaws) servers[0]!.thaw();
    await clock.advance(thaws ? 0 : 600);
    await revoking;
    expect(answers).toEqual(['revoked']);
  });

  describe('that should be confirmed', () => {
    const OPTIONS = { confirmed: true };

    /** A job of which another connection holds the first copy. */
    async function held(options: { key?: string } = {}) {
      const system = await embedded();
      const receipt = await system.producer.now('t', 1, options);
      await system.clock.advance(0);
      const lane = system.nodes[0]!.connectLane(() => undefined)!;
      await lane.ask((done) => lane.watch('t', done));
      const copy = await lane.ask<Reserved | string>((done) => lane.reserveWithTimeout(0, done));
      if (typeof copy === 'string') throw new Error(`no copy was there: ${copy}`);
      return Object.assign(system, { receipt, lane, copyId: copy.id });
    }

    it.each<[string, (lane: Connection, copyId: string) => void]>([
      ['deletes it', (lane, copyId) => lane.delete(copyId, () => undefined)],
      ['releases it', (lane, copyId) => lane.release(copyId, 0, 0, () => undefined)],
      ['ends', (lane) => lane.close()],
    ])('waits for a copy that a consumer holds, until the consumer %s', async (_how, end) => {
      const { producer, clock, copies, receipt, lane, copyId } = await held();
      const answers: string[] = [];
      const revoking = producer.revoke(receipt, OPTIONS).then((result) => answers.push(result));
      await clock.advance(1_000);
      expect([answers, (await copies()).map(({ state }) => state)]).toEqual([[], ['reserved']]);
      end(lane, copyId);
      await clock.advance(100);
      await revoking;
      expect([answers, await copies()]).toEqual([['revoked'], []]);
    });

    it('settles what was deleted late', async () => {
      const { producer, ledger, clock, receipt, lane } = await held();
      const revoking = producer.revoke(receipt, OPTIONS);
      await clock.advance(1_000);
      lane.close();
      await clock.advance(100);
      await revoking;
      await clock.advance(70_000);
      const { id } = receipt;
      expect(ledger.settled).toEqual([
        { id, generation: 0, mask: 0b110, unknown: false },
        { id, generation: 0, mask: 0b001, unknown: false },
      ]);
    });

    it.each<[string, { key?: string }, (receipt: JobReceipt) => JobRef]>([
      ['by receipt', {}, (receipt) => receipt],
      ['by id', {}, ({ tube, id }) => ({ tube, id })],
      ['by key', { key: 'k' }, () => KEY],
      ['by the receipt of a keyed job', { key: 'k' }, (receipt) => receipt],
    ])(
      'fails while a consumer holds a copy, and asked again %s it confirms',
      async (_how, options, refOf) => {
        const { producer, events, clock, after, copies, receipt, lane } = await held(options);
        const ref = 'key' in options ? KEY : receipt;
        const told = events.collect('revoked');
        const error = await failure(after(5_000, producer.revoke(ref, OPTIONS)));
        expect([error.code, error.indeterminate]).toEqual(['DQ_UNCONFIRMED', false]);
        expect(error.message).toMatch(/ is revoked and starts only if .* holds its copy at n0:1#\w+:\d+,/);
        expect(told).toHaveLength(1);
        expect(await producer.find(ref)).toMatchObject({ state: 'revoked' });
        expect((await failure(after(5_000, producer.revoke(refOf(receipt), OPTIONS)))).code).toBe(
          'DQ_UNCONFIRMED',
        );
        lane.close();
        await clock.advance(0);
        expect(await producer.revoke(refOf(receipt), OPTIONS)).toBe('revoked');
        expect(await copies()).toEqual([]);
      },
    );

    it('fails if nobody knows where the copies are, and a receipt confirms it', async () => {
      const { producer } = await embedded();
      const receipt = await producer.delay('t', 1, '1m');
      expect(await producer.revoke(receipt)).toBe('revoked');
      const error = await failure(producer.revoke({ tube: 't', id: receipt.id }, OPTIONS));
      expect(error.code).toBe('DQ_UNCONFIRMED');
      expect(error.message).toMatch(/ the locations of its copies are unknown: expected .* receipt$/);
      expect(await producer.revoke(receipt, OPTIONS)).toBe('revoked');
    });

    it('does not confirm once its process closes', async () => {
      const { producer, clock, receipt } = await held();
      const revoking = failure(producer.revoke(receipt, OPTIONS));
      await clock.advance(100);
      await producer.close();
      await clock.advance(5_000);
      expect((await revoking).code).toBe('DQ_CLOSED');
    });
  });

  it('takes a receipt, its ref, and a receipt after JSON', async () => {
    const { producer } = await embedded();
    const receipts = await Promise.all([1, 2, 3].map((i) => producer.delay('t', i, '1m')));
    expect(await producer.revoke(receipts[0]!)).toBe('revoked');
    expect(await producer.revoke(receipts[1]!.ref)).toBe('revoked');
    expect(await producer.revoke(JSON.parse(JSON.stringify(receipts[2])) as JobReceipt)).toBe('revoked');
  });

  it('asks the ledger once for all that are revoked in a tick, and each gets the answer for its own job', async () => {
    const { producer, ledger, copies, clock } = await embedded();
    const receipts = await Promise.all([1, 2, 3].map((i) => producer.delay('t', i, '1m')));
    await producer.revoke(receipts[1]!);
    await clock.advance(0);
    ledger.asked.length = 0;
    const gone = { tube: 't', key: 'nobody' };
    const results = await Promise.all([...receipts, gone].map((ref) => producer.revoke(ref)));
    expect(results).toEqual(['revoked', 'revoked', 'revoked', 'unknown']);
    expect([ledger.asked, await copies()]).toEqual([['revoke'], []]);
  });

  it.each(['lost', 'unanswered', 'closed'] as const)(
    'deletes nothing when the call to the ledger is %s, and may be asked again',
    async (fault) => {
      const { producer, ledger, copies } = await embedded();
      const receipt = await producer.delay('t', 1, '1m');
      ledger.fail('revoke', fault);
      const { code } = await failure(producer.revoke(receipt));
      expect(code).toBe(fault === 'closed' ? 'DQ_CLOSED' : 'DQ_LEDGER_DOWN');
      expect(await copies()).toHaveLength(3);
      expect(await producer.revoke(receipt)).toBe('revoked');
      expect(await copies()).toEqual([]);
    },
  );

  it('reports that a job runs, or is done, and leaves its copies alone', async () => {
    const { producer, copies, run } = await embedded();
    const receipt = await producer.now('t', 1);
    const { finish } = await run((await copies())[0]!);
    expect(await producer.revoke(receipt)).toBe('running');
    await finish('done');
    expect(await producer.revoke(receipt)).toBe('done');
    expect(await copies()).toHaveLength(3);
  });

  it('is in time for a job so long overdue that its end may be forgotten, when every copy was still there', async () => {
    const { producer, copies, clock } = await embedded();
    const receipt = await producer.now('t', 1);
    await clock.advance(60_000);
    expect(await producer.revoke(receipt)).toBe('revoked');
    expect(await copies()).toEqual([]);
  });

  it('is uncertain about such a job when a copy was missing', async () => {
    const { producer, nodes, clock } = await embedded();
    const receipt = await producer.now('t', 1);
    await clock.advance(60_000);
    const lane = nodes[1]!.connectLane(() => undefined)!;
    await lane.ask((done) => lane.watch('t', done));
    await lane.ask((done) => lane.reserveWithTimeout(0, done));
    expect(await producer.revoke(receipt)).toBe('unknown');
    lane.close();
  });

  it('does not delete the innocent jobs of nodes that came back empty', async () => {
    const { producer, nodes, servers, clock, copies } = await embedded();
    const old = await producer.delay('t', 'old', '1h');
    for (const [i, server] of servers.entries()) {
      server.close();
      servers[i] = new InProcessNode(clock);
    }
    await clock.advance(3_000);
    expect(nodes.map(({ up }) => up)).toEqual([true, true, true]);
    const innocent = await producer.delay('t', 'innocent', '1h');
    const copyIds = (receipt: JobReceipt) =>
      parseRef(receipt, '').places.map(({ location }) => location.slice(location.lastIndexOf(':')));
    expect(copyIds(innocent)).toEqual(copyIds(old));
    expect(await producer.revoke(old)).toBe('revoked');
    expect(await copies()).toHaveLength(3);
    expect(await producer.revoke(innocent)).toBe('revoked');
    expect(await copies()).toEqual([]);
  });

  it('settles what it deleted, once that is certain', async () => {
    const { producer, ledger, clock, copies } = await embedded();
    const receipt = await producer.delay('t', 1, '1h');
    await producer.revoke(receipt);
    expect(await copies()).toEqual([]);
    await clock.advance(65_000);
    expect(ledger.settled).toEqual([{ id: receipt.id, generation: 0, mask: 0b111, unknown: false }]);
  });

  it('holds although a node is away: its copy is turned away when it is back', async () => {
    const { producer, cut, restore, copies, claim, after } = await embedded();
    const receipt = await producer.delay('t', 1, '1m');
    await cut(0);
    expect(await after(1_000, producer.revoke(receipt))).toBe('revoked');
    await restore();
    const [left, ...others] = await copies();
    expect([left!.node, others]).toEqual([0, []]);
    expect(await claim(left!)).toEqual({ kind: 'gone' });
  });

  it.each<unknown>(['', 'x', undefined, null, 5, {}, { ref: 'dq1.x' }, { tube: 't', key: '' }])(
    'refuses %p',
    async (ref) => {
      const { producer, ledger } = await scripted();
      expect((await failure(producer.revoke(ref as JobRef))).code).toBe('DQ_BAD_REF');
      expect(ledger.asked).toEqual([]);
    },
  );

  it.each<[unknown, string]>([
    [null, 'the revoke options is null'],
    [true, 'the revoke options is true'],
    [{ abort: 1 }, '`abort` is 1'],
    [{ confirmed: 'yes' }, '`confirmed` is "yes"'],
    [{ aborted: true }, 'unknown "aborted" in the revoke options'],
  ])('refuses the options %p', async (options, text) => {
    const { producer, ledger } = await scripted();
    const error = await failure(producer.revoke(KEY, options as { abort: boolean }));
    expect([error.code, error.message]).toEqual(['DQ_BAD_OPTION', expect.stringContaining(text)]);
    expect(ledger.asked).toEqual([]);
  });
});

describe('revoke by key', () => {
  it('revokes what waits, and deletes its copies', async () => {
    const { producer, copies, claim } = await embedded();
    await producer.delay('t', 1, '1m', { key: 'k' });
    const before = await copies();
    expect(before).toHaveLength(3);
    expect(await producer.revoke(KEY)).toBe('revoked');
    expect(await copies()).toEqual([]);
    expect(await claim(before[0]!)).toEqual({ kind: 'gone' });
  });

  it('revokes what waits for a retry', async () => {
    const { producer, clock, copies, claim, run } = await embedded();
    await producer.now('t', 1, { key: 'k' });
    await clock.advance(0);
    const [primary] = await copies();
    const { finish } = await run(primary!);
    await finish('retry', { due: clock.wall() + 5_000 });
    expect(await producer.revoke(KEY)).toBe('revoked');
    expect(await copies()).toEqual([]);
    await clock.advance(5_000);
    expect(await claim(primary!)).toEqual({ kind: 'gone' });
  });

  it('lets a run finish, and nothing follows it', async () => {
    const { producer, clock, copies, claim, run, memory } = await embedded();
    await producer.now('t', 1, { key: 'k' });
    const [primary] = await copies();
    const { finish } = await run(primary!);
    expect(await producer.revoke(KEY)).toBe('running');
    const { id } = primary!.header;
    expect((await memory.tube('t').find([id]))[0]).toMatchObject({ state: 'running' });
    expect(await finish('retry', { due: clock.wall() + 1 })).toBe('over');
    await clock.advance(1);
    expect(await claim(primary!)).toEqual({ kind: 'gone' });
    expect(await producer.revoke(KEY)).toBe('revoked');
  });

  it.each([true, false])('asks the handler to stop only with abort: %p', async (abort) => {
    const { producer, clock, copies, memory } = await embedded();
    await producer.now('t', 1, { key: 'k' });
    const [{ header }] = (await copies()) as [Awaited<ReturnType<typeof copies>>[0]];
    const { id, generation, born, due } = header;
    const tube = memory.tube('t');
    const [answer] = await tube.claim([{ id, generation, born, due, token: 'x', attempts: 10 }]);
    if (answer?.kind !== 'run') throw new Error('it did not run');
    const { fence, attempt } = answer;
    expect(await producer.revoke(KEY, { abort })).toBe('running');
    const run = { id, generation, born, due, fence, attempt, lastOk: clock.wall() };
    expect(await tube.extend([run])).toEqual([abort ? 'abort' : 'ok']);
  });

  it('of a done, a dead and an unknown job says so', async () => {
    const { producer, copies, run } = await embedded();
    expect(await producer.revoke(KEY)).toBe('unknown');
    await producer.now('t', 1, { key: 'done' });
    await (await run((await copies())[0]!)).finish('done');
    expect(await producer.revoke({ tube: 't', key: 'done' })).toBe('done');
    await producer.now('u', 1, { key: 'dead' });
    await (await run((await copies('u'))[0]!, 10, 'u')).finish('dead');
    expect(await producer.revoke({ tube: 'u', key: 'dead' })).toBe('dead');
  });

  it('revokes the job that waits for a run which it replaced', async () => {
    const { producer, clock, copies, run, claim, payloads } = await embedded();
    await producer.now('t', 'old', { key: 'k' });
    const { finish } = await run((await copies())[0]!);
    await clock.advance(1);
    await producer.now('t', 'new', { key: 'k' });
    await clock.advance(0);
    const fresh = (await copies()).find(({ payload }) => payload === 'new')!;
    expect(await producer.revoke(KEY)).toBe('running');
    expect(await payloads()).not.toContain('new');
    expect(await finish('retry')).toBe('over');
    expect(await claim(fresh)).toEqual({ kind: 'gone' });
  });

  it('leaves the key free', async () => {
    const { producer, clock, copies, run, payloads } = await embedded();
    await producer.delay('t', 1, '1m', { key: 'k' });
    await producer.revoke(KEY);
    await clock.advance(1);
    expect((await producer.now('t', 2, { key: 'k', onDuplicate: 'reject' })).status).toBe('added');
    expect(await payloads()).toEqual(['2', '2', '2']);
    expect((await run((await copies())[0]!)).attempt).toBe(1);
  });

  it('means this tube, and this prefix', async () => {
    const { producer, copies } = await embedded(3, 'app.');
    await producer.delay('t', 1, '1m', { key: 'k' });
    expect(await producer.revoke({ tube: 'u', key: 'k' })).toBe('unknown');
    expect(await copies('app.t')).toHaveLength(3);
    expect(await producer.revoke({ tube: { name: 't' }, key: 'k' })).toBe('revoked');
    expect(await copies('app.t')).toEqual([]);
  });
});

describe('revoke by a receipt', () => {
  it('of a replaced job changes nothing, and says that it is unknown', async () => {
    const { producer, clock, copies, run, payloads } = await embedded();
    const old = await producer.delay('t', 'old', '1m', { key: 'k' });
    await clock.advance(1);
    await producer.now('t', 'new', { key: 'k' });
    await clock.advance(0);
    expect(await producer.revoke(old)).toBe('unknown');
    expect(await payloads()).toEqual(['new', 'new', 'new']);
    await run((await copies())[0]!);
  });

  it.each<[string, { key?: string }]>([
    ['plain', {}],
    ['keyed', { key: 'k' }],
  ])('from before it was rescheduled revokes a %s job', async (_kind, options) => {
    const { producer, clock, copies } = await embedded();
    const receipt = await producer.delay('t', 1, '1m', options);
    await clock.advance(1);
    expect(await producer.reschedule(receipt, { delay: '2m' })).toBe('rescheduled');
    await clock.advance(0);
    const moved = await copies();
    expect(moved).toHaveLength(3);
    expect(await producer.revoke(receipt)).toBe('revoked');
    expect(await copies()).toEqual([]);
    expect(await producer.find(receipt)).toMatchObject({ state: 'revoked' });
  });

  it('settles nothing of a generation whose places are unknown', async () => {
    const { producer, ledger, clock, after, copies, run, claim } = await embedded();
    const receipt = await producer.delay('t', 1, '1h');
    ledger.fail('commit', 'lost', 'lost', 'lost');
    await failure(after(2_000, producer.reschedule(receipt, { delay: 1 })));
    await clock.advance(10_000);
    const moved = (await copies())[3]!;
    await (await run(moved)).finish('retry'); // the claim has committed what the producer could not
    expect(await producer.revoke(receipt)).toBe('revoked');
    expect(await copies()).toContainEqual(moved);
    expect(await claim(moved)).toEqual({ kind: 'gone' });
    await clock.advance(65_000);
    expect(ledger.settled).toEqual([]);
  });

  it('works as one by key does, of the job that is scheduled', async () => {
    const { producer, copies } = await embedded();
    const refs: JobRef[] = [];
    refs.push(await producer.delay('t', 1, '1m', { key: 'k' }));
    expect(await producer.revoke(refs[0]!)).toBe('revoked');
    expect(await copies()).toEqual([]);
  });
});
