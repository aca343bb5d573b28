import { describe, expect, it } from '@jest/globals';
import { CollectingHub } from '../../spec-support/collecting-hub.js';
import { embedded } from '../../spec-support/producing.js';
import { stored } from '../../spec-support/stored.js';
import { textReport } from '../../spec-support/tube-context.js';
import { parseRef } from '../copies/job-ref.js';
import { InProcessNode } from '../embedded/in-process-node.js';
import { LedgerIndex } from '../ledger/ledger-index.js';
import type { WaitingJobs } from '../ledger/waiting/waiting-jobs.js';
import { LostJobs } from './lost-jobs.js';

const T = stored('t');
const SECOND = 1_000;
const TIMES = { firstAfter: SECOND, every: 10 * SECOND, overdue: 30 * SECOND };

/** Two nodes with an indexed job that is overdue, and a process that looks for lost jobs. */
async function looking(change: (index: WaitingJobs) => Partial<WaitingJobs> = () => ({})) {
  const world = await embedded(2);
  const { producer, memory, clock, servers, cluster } = world;
  const index = new LedgerIndex(memory);
  const add = async () => {
    const receipt = await producer.delay('t', 1, '1s');
    const { id, due, places } = parseRef(receipt, '');
    expect(await memory.tube('t').ask('index', [{ id, due, places }])).toEqual(['listed']);
    return receipt;
  };
  const receipt = await add();
  await clock.advance(TIMES.overdue + SECOND);
  const reports: string[] = [];
  const events = new CollectingHub();
  const told = events.collect('lost');
  const waiting: WaitingJobs = {
    complete: false,
    page: (tube, page) => index.page(tube, page),
    find: (tube, id) => index.find(tube, id),
    counts: (tube) => index.counts(tube),
    dueBefore: (tube, times) => index.dueBefore(tube, times),
    ...change(index),
  };
  const parts = { cluster, ledger: memory, clock, events, report: textReport(reports) };
  const lost = new LostJobs('', parts, waiting, () => ['t'], TIMES);
  /** The node is another server from now on: it has nothing, or these bodies, in the order of their ids. */
  const replace = async (node: number, bodies: readonly string[] = []) => {
    servers[node]!.close();
    const next = (servers[node] = new InProcessNode(clock));
    for (const body of bodies) next.store.put(next.store.announce(next.store.tubes.default, 0, 0, 60), body);
    await clock.advance(3 * SECOND);
    expect(world.nodes[node]!.up).toBe(true);
  };
  const bodiesOf = (node: number) => servers[node]!.bodies('t').map((body) => body.toString('latin1'));
  return Object.assign(world, { add, receipt, index, reports, told, lost, replace, bodiesOf });
}

describe('the search for lost jobs', () => {
  it('reports once that a job is lost when all nodes have lost their data, and leaves it in the list', async () => {
    const { lost, replace, clock, reports, told, receipt, index } = await looking();
    await replace(0);
    await replace(1);
    lost.start();
    await clock.advance(SECOND);
    const { id, dueAt } = receipt;
    const latest = { tube: 't', id, dueAt, attempt: 0, copies: 2 };
    expect(told).toEqual([latest]);
    expect(lost.found).toEqual({ count: 1, latest });
    await clock.advance(3 * TIMES.every);
    expect(reports).toEqual([`lost t ${id}`]);
    expect((await index.page(T, { limit: 10 })).jobs).toMatchObject([{ id }]);
  });

  it('reports nothing while one node has its copy', async () => {
    const { lost, replace, clock, told } = await looking();
    await replace(0);
    lost.start();
    await clock.advance(2 * TIMES.every);
    expect([told, lost.found]).toEqual([[], undefined]);
  });

  it('reports nothing of a node that was restarted with its log', async () => {
    const { lost, replace, bodiesOf, clock, told } = await looking();
    await replace(0);
    await replace(1, bodiesOf(1));
    lost.start();
    await clock.advance(2 * TIMES.every);
    expect(told).toEqual([]);
  });

  it('takes no other job for the copy that has its id by now', async () => {
    const { lost, replace, clock, told } = await looking();
    await replace(0, ['another']);
    await replace(1, ['dq1 {"id":"another","due":5,"n":2,"i":0}\n1']);
    lost.start();
    await clock.advance(SECOND);
    expect(told).toHaveLength(1);
  });

  it('reports nothing while a node is away, whether it has the copy or not', async () => {
    const { lost, replace, cut, restore, clock, told } = await looking();
    await replace(0);
    await cut(1);
    lost.start();
    await clock.advance(2 * TIMES.every);
    expect(told).toEqual([]);
    await restore();
    await clock.advance(2 * TIMES.every);
    expect(told).toEqual([]);
    await replace(1);
    await clock.advance(2 * TIMES.every);
    expect(told).toHaveLength(1);
  });

  it('reports nothing of a job whose copies were deleted: it is over, whatever its list says', async () => {
    const { lost, copies, nodes, replace, clock, told } = await looking();
    for (const { node, copyId } of await copies()) {
      const lane = nodes[node]!.connectLane(() => undefined)!;
      await lane.ask((done) => lane.delete(copyId, done));
      lane.close();
    }
    await replace(0);
    lost.start();
    await clock.advance(2 * TIMES.every);
    expect(told).toEqual([]);
  });

  it.each(['claimed', 'revoked'])(
    'reports nothing of a job that was %s while its copies were looked for',
    async (how) => {
      let meanwhile: () => Promise<unknown> = async () => undefined;
      const world = await looking((index) => ({
        page: async (tube, page) => {
          const list = await index.page(tube, page);
          await meanwhile();
          return list;
        },
      }));
      const { lost, replace, clock, told, producer, receipt, copies, run } = world;
      const [primary] = await copies();
      await replace(0);
      await replace(1);
      meanwhile = how === 'claimed' ? () => run(primary!) : () => producer.revoke(receipt);
      lost.start();
      await clock.advance(3 * TIMES.every);
      expect(told).toEqual([]);
    },
  );

  it('reports nothing of a job that has not been overdue for long', async () => {
    const { lost, replace, clock, told, add } = await looking();
    const later = await add();
    await replace(0);
    await replace(1);
    lost.start();
    await clock.advance(SECOND);
    expect(told).toHaveLength(1);
    await clock.advance(4 * TIMES.every);
    expect(told.map(({ id }) => id)).toContain(later.id);
  });

  it.each([
    [
      'a place is unknown',
      [
        { index: 0, location: 'n0:1#gone:1' },
        { index: 1, location: 'n1:1#gone:?' },
      ],
      0,
    ],
    ['the primary is unknown, so its siblings may be, too', [{ index: 1, location: 'n1:1#gone:1' }], 0],
    ['no place is known', [], 0],
    [
      'all places are known',
      [
        { index: 0, location: 'n0:1#gone:9' },
        { index: 1, location: 'n1:1#gone:9' },
      ],
      1,
    ],
  ])('when %s', async (_when, places, count) => {
    const { lost, memory, clock, told } = await looking();
    await memory.tube('t').ask('index', [{ id: 'x', due: clock.wall() - 40 * SECOND, places }]);
    lost.start();
    await clock.advance(SECOND);
    expect(told).toHaveLength(count);
  });

  it('looks at 128 jobs in a round, and continues after them in the next', async () => {
    const { lost, memory, clock, told } = await looking();
    const places = [{ index: 0, location: 'n0:1#gone:9' }];
    const due = clock.wall() - 40 * SECOND;
    const jobs = Array.from({ length: 130 }, (_, i) => ({ id: `j${i}`, due, places }));
    await memory.tube('t').ask('index', jobs);
    lost.start();
    await clock.advance(SECOND);
    for (let i = 0; i < 100; i++) await clock.quiet();
    expect(told).toHaveLength(128);
    await clock.advance(TIMES.every);
    expect(told).toHaveLength(130);
  });

  it('continues after a list that fails, and ends with its process', async () => {
    let asked = 0;
    const { lost, replace, clock, told } = await looking((index) => ({
      page: async (tube, page) => {
        if (++asked === 1) throw new Error('no answer');
        return index.page(tube, page);
      },
    }));
    await replace(0);
    await replace(1);
    lost.start();
    await clock.advance(SECOND);
    expect([asked, told]).toEqual([1, []]);
    await clock.advance(TIMES.every);
    expect(told).toHaveLength(1);
    await lost.close();
    await clock.advance(2 * TIMES.every);
    expect(asked).toBe(2);
  });
});
