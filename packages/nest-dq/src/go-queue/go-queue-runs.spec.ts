import { beforeEach, describe, expect, it } from '@jest/globals';
import { VirtualClock } from 'nest-handlers/testing';
import { heldDelivery, recordingLane } from '../../spec-support/recording-lane.js';
import { runOf, tubeContext } from '../../spec-support/tube-context.js';
import { unwrap } from '../../spec-support/unwrap.js';
import type { ClusterNode } from '../cluster/cluster-node.js';
import { Delivery, type Taker } from '../consumer/reserve/delivery.js';
import { Executor } from '../consumer/run/executor.js';
import type { RunOutcome } from '../consumer/run/outcome.js';
import type { TubeContext, TubeSharing } from '../consumer/tube-context.js';
import type { AdoptedAs, Adopt } from '../producer/producer-context.js';
import { AdoptingTube, LockingTube } from './go-queue-runs.js';
import type { GoQueueLocks } from './locks.js';
import { MemoryGoQueueLocks } from './memory-locks.js';

const ID = 'd41d8cd98f00b204e9800998ecf8427e';
const { lane } = recordingLane();
let clock: VirtualClock;
let context: TubeContext & { readonly reports: string[] };
let outcomes: RunOutcome[];
let handled: number;
let executor: Executor;

function make(sharing: TubeSharing): void {
  context = tubeContext(clock, { sharing });
  executor = new Executor(context, () => void handled++);
}

beforeEach(() => {
  clock = new VirtualClock();
  outcomes = [];
  handled = 0;
});

describe('a job that go-queue stored', () => {
  /** Returns its id. */
  function start(due = 0): string {
    const body = Buffer.from(`${due}000000/x`);
    const taker = { read: unwrap, lost: () => undefined } as unknown as Taker;
    const delivery = new Delivery(
      { endpoint: 'node' } as ClusterNode,
      lane,
      `${due}`,
      body,
      undefined,
      taker,
    );
    lane.hold(delivery);
    void executor.run(runOf(delivery)).then((outcome) => outcomes.push(outcome));
    return delivery.header.id;
  }

  const adopting = (adopt: Adopt) => make(new AdoptingTube(adopt, 60_000));

  it('becomes a job of ours, of the same time, under its own id', async () => {
    const adopted: AdoptedAs[] = [];
    adopting(async (_tube, _copy, as) => void adopted.push(as));
    const key = start(17);
    await clock.advance(0);
    expect([adopted, outcomes, handled]).toEqual([[{ key, due: 17 }], [{ kind: 'done' }], 0]);
    expect(context.budget.handling).toBe(0);
  });

  it('is held until it has become one', async () => {
    let tries = 0;
    adopting(() => (++tries < 3 ? Promise.reject(new Error('away')) : Promise.resolve()));
    const id = start();
    await clock.advance(1_999);
    expect([tries, outcomes]).toEqual([2, []]);
    await clock.advance(1);
    expect([tries, outcomes]).toEqual([3, [{ kind: 'done' }]]);
    expect(context.reports).toEqual([`not adopted ${id} away`, `not adopted ${id} away`]);
  });

  it('is handed back by a shutdown', async () => {
    adopting(() => Promise.reject(new Error('away')));
    start();
    await clock.advance(500);
    executor.giveUp();
    await clock.advance(5_000);
    expect(outcomes).toEqual([{ kind: 'back' }]);
    expect(context.budget.handling).toBe(0);
  });

  it('is dead once nobody can know whether go-queue has run it', async () => {
    adopting(async () => undefined);
    await clock.advance(120_000);
    start(59_999);
    start(60_000);
    await clock.advance(0);
    expect(outcomes).toMatchObject([{ kind: 'dead', death: { why: 'stale' } }, { kind: 'done' }]);
    expect(outcomes[0]).toMatchObject({
      death: { error: { message: expect.stringContaining('1 minutes overdue') } },
    });
  });
});

describe('a job that was adopted', () => {
  const start = (header = {}) =>
    void executor
      .run(runOf(heldDelivery(lane, { id: 'a', key: ID, generation: 5, born: 5, ...header })))
      .then((outcome) => outcomes.push(outcome));
  let locks: MemoryGoQueueLocks;
  const locking = (changed: Partial<GoQueueLocks> = {}) =>
    make(new LockingTube(Object.assign(locks, changed)));

  beforeEach(() => {
    locks = new MemoryGoQueueLocks(clock);
  });

  it('runs with the lock, and again by the same', async () => {
    locking();
    start();
    start();
    await clock.advance(0);
    expect([handled, outcomes]).toEqual([2, [{ kind: 'done' }, { kind: 'done' }]]);
    expect(await locks.take(ID, 'nest-dq:5')).toBe(true);
  });

  it('is over if someone else has the lock, or it is revoked', async () => {
    locking();
    await locks.take(ID, 'nest-dq:4');
    start();
    await locks.revoke('0'.repeat(32), 1_000);
    start({ key: '0'.repeat(32) });
    await clock.advance(0);
    expect([handled, outcomes]).toEqual([0, [{ kind: 'done' }, { kind: 'done' }]]);
    expect(context.budget.handling).toBe(0);
  });

  it('is handed back after a second while nobody can know', async () => {
    const take = () => Promise.reject(new Error('away'));
    locking({ take });
    start();
    await clock.advance(999);
    expect(outcomes).toEqual([]);
    await clock.advance(1);
    expect([handled, outcomes]).toEqual([0, [{ kind: 'back' }]]);
    expect(context.reports).toEqual(['ledger trouble a away']);
  });

  it('does not begin when a shutdown has come first', async () => {
    locking();
    start();
    executor.giveUp();
    await clock.advance(0);
    expect([handled, outcomes]).toEqual([0, [{ kind: 'back' }]]);
  });

  it('needs no lock if go-queue has nothing to do with it', async () => {
    locking({ take: () => Promise.reject(new Error('nobody asks')) });
    start({ key: 'order:42' });
    expect(handled).toBe(1);
  });
});
