import { describe, expect, it } from '@jest/globals';
import { stored } from '../../spec-support/stored.js';
import { VirtualClock } from '../test-kit/virtual-clock.js';
import type { SettledCopies } from './requests.js';
import { MemoryLedger } from './memory/memory-ledger.js';
import type { MemoryTubeLedger } from './memory/memory-ledger.js';
import type { DeletedCopy } from './deleted-copies.js';
import type { Handover, LeftDeletions } from './handover.js';
import type { Deletion } from './deleted-copies.js';
import { SettleQueue } from './settle-queue.js';
import { Succession } from './succession.js';

const SETTINGS = { lease: 15_000, doneTtl: 600_000, staleAfter: 604_800_000 };

/** Notes what is settled in a call of its own. */
class NotingLedger extends MemoryLedger {
  readonly sent: [tube: string, settled: readonly SettledCopies[]][] = [];
  silent = false;

  override tube(name: string): MemoryTubeLedger {
    return Object.assign(Object.create(super.tube(name)) as MemoryTubeLedger, {
      settle: async (settled: readonly SettledCopies[]) => {
        this.sent.push([name, settled]);
        if (this.silent) throw new Error('no answer');
      },
    });
  }
}

function setup() {
  const clock = new VirtualClock();
  const ledger = new NotingLedger({ settings: SETTINGS, clock });
  return { clock, ledger, sent: ledger.sent, queue: new SettleQueue(ledger, clock) };
}

/** The handover of two processes on one clock. */
class HeldHandover implements Handover {
  readonly left: [certainAt: number, LeftDeletions][] = [];
  silent = false;

  constructor(private readonly clock: VirtualClock) {}

  async leave(left: readonly LeftDeletions[]): Promise<void> {
    if (this.silent) await new Promise(() => undefined);
    for (const each of left) this.left.push([this.clock.now() + each.certainIn, each]);
  }

  async take(): Promise<LeftDeletions[]> {
    const found = this.left.findIndex(([certainAt]) => certainAt <= this.clock.now());
    return found < 0 ? [] : this.left.splice(found, 1).map(([, each]) => each);
  }
}

const witness = (instance = 'i1') => ({ instance: instance as string | undefined, logStopped: false });
const node = witness();
const copy = (index: number, of = node): DeletedCopy => ({ index, node: of, instance: 'i1' });
const deletion = (id: string, copies: readonly DeletedCopy[] = [copy(0)], tube = 't'): Deletion => ({
  tube: stored(tube),
  id,
  generation: 0,
  copies,
  unknown: false,
});

describe('SettleQueue', () => {
  it('holds a deletion back for the 60 s a node may forget', async () => {
    const { clock, queue } = setup();
    queue.add({ ...deletion('a', [copy(0), copy(2)]), generation: 7, unknown: true });
    await clock.advance(59_999);
    expect(queue.take(stored('t'))).toEqual([]);
    await clock.advance(1);
    expect(queue.take(stored('t'))).toEqual([{ id: 'a', generation: 7, mask: 0b101, unknown: true }]);
    expect(queue.take(stored('t'))).toEqual([]);
  });

  it('leaves out a copy whose node restarted, or is away, by then', async () => {
    const { clock, queue } = setup();
    const restarted = witness();
    const away = witness();
    queue.add(deletion('a', [copy(0), copy(1, restarted), copy(2, away)]));
    queue.add(deletion('b', [copy(1, restarted)]));
    restarted.instance = 'i2';
    away.instance = undefined;
    await clock.advance(60_000);
    expect(queue.take(stored('t'))).toEqual([{ id: 'a', generation: 0, mask: 0b001, unknown: false }]);
  });

  it('leaves out a copy whose node has stopped its log by then: a restart would bring it back', async () => {
    const { clock, queue } = setup();
    const forgetful = witness();
    queue.add(deletion('a', [copy(0), copy(1, forgetful)]));
    queue.add(deletion('b', [copy(1, forgetful)]));
    forgetful.logStopped = true;
    await clock.advance(60_000);
    expect(queue.take(stored('t'))).toEqual([{ id: 'a', generation: 0, mask: 0b001, unknown: false }]);
  });

  it('gives each tube its own', async () => {
    const { clock, queue } = setup();
    queue.add(deletion('a', [copy(0)], 'one'));
    queue.add(deletion('b', [copy(0)], 'two'));
    await clock.advance(60_000);
    expect(queue.take(stored('two')).map(({ id }) => id)).toEqual(['b']);
    expect(queue.take(stored('three'))).toEqual([]);
    expect(queue.take(stored('one')).map(({ id }) => id)).toEqual(['a']);
  });

  it('holds what was deleted alike within a second together, and none for less than its minute', async () => {
    const { clock, queue } = setup();
    const copies = [copy(0), copy(1)];
    queue.add(deletion('a', copies));
    await clock.advance(500);
    queue.add({ ...deletion('b', copies), generation: 7 });
    queue.add(deletion('d', copies, 'two'));
    queue.add({ ...deletion('c', copies), unknown: true });
    await clock.advance(500);
    queue.add(deletion('e', copies));
    await clock.advance(59_499);
    expect(queue.take(stored('t'))).toEqual([]);
    await clock.advance(501);
    expect(queue.take(stored('t'))).toEqual([
      { id: 'a', generation: 0, mask: 3, unknown: false },
      { id: 'b', generation: 7, mask: 3, unknown: false },
      { id: 'c', generation: 0, mask: 3, unknown: true },
      { id: 'e', generation: 0, mask: 3, unknown: false },
    ]);
    expect(queue.take(stored('two')).map(({ id }) => id)).toEqual(['d']);
  });

  it('sends alone after 5 s what no call took along', async () => {
    const { clock, queue, sent } = setup();
    queue.add(deletion('a'));
    queue.add(deletion('b', [copy(1)], 'two'));
    await clock.advance(60_000);
    expect(queue.take(stored('two'))).toHaveLength(1);
    await clock.advance(4_999);
    expect(sent).toEqual([]);
    await clock.advance(1);
    expect(sent).toEqual([['t', [{ id: 'a', generation: 0, mask: 1, unknown: false }]]]);
    await clock.advance(600_000);
    expect(sent).toHaveLength(1);
  });

  it('goes on with those that come later', async () => {
    const { clock, queue, sent } = setup();
    queue.add(deletion('a'));
    await clock.advance(30_000);
    queue.add(deletion('b'));
    await clock.advance(30_000);
    expect(queue.take(stored('t')).map(({ id }) => id)).toEqual(['a']);
    await clock.advance(29_999);
    expect(queue.take(stored('t'))).toEqual([]);
    await clock.advance(1);
    expect(queue.take(stored('t')).map(({ id }) => id)).toEqual(['b']);
    await clock.advance(100_000);
    queue.add(deletion('c'));
    await clock.advance(65_000);
    expect(sent.map(([, settled]) => settled.map(({ id }) => id))).toEqual([['c']]);
  });

  it('sends all that is certain, in one call after the other', async () => {
    const { clock, queue, sent } = setup();
    for (let i = 0; i < 2_500; i++) queue.add(deletion('a', [copy(i % 2)]));
    await clock.advance(65_000);
    expect(sent.map(([, settled]) => settled.length)).toEqual([1_000, 1_000, 500]);
    expect(queue.size).toBe(0);
  });

  it('holds together what was deleted alike in another order', async () => {
    const { clock, queue } = setup();
    const copies = [copy(0), copy(1)];
    queue.add(deletion('a', copies));
    queue.add(deletion('b', [copy(0)]));
    queue.add(deletion('c', copies.toReversed()));
    queue.add(deletion('d', copies, 'two'));
    await clock.advance(60_000);
    expect(queue.take(stored('t')).map(({ id, mask }) => [id, mask])).toEqual([
      ['a', 3],
      ['c', 3],
      ['b', 1],
    ]);
  });

  it('takes along at most a batch', async () => {
    const { clock, queue } = setup();
    for (let i = 0; i < 1_500; i++) queue.add(deletion(`${i}`));
    await clock.advance(60_000);
    expect(queue.take(stored('t'))).toHaveLength(1_000);
    expect(queue.take(stored('t'))).toHaveLength(500);
    expect(queue.take(stored('t'))).toHaveLength(0);
  });

  it('drops what the ledger does not answer: the record stays longer', async () => {
    const { clock, queue, ledger, sent } = setup();
    ledger.silent = true;
    queue.add(deletion('a'));
    await clock.advance(120_000);
    expect(sent).toHaveLength(1);
    expect(queue.take(stored('t'))).toEqual([]);
  });

  it('takes nothing of a job of which nothing was deleted', async () => {
    const { clock, queue, sent } = setup();
    queue.add({ ...deletion('a', []), unknown: true });
    await clock.advance(120_000);
    expect(sent).toEqual([]);
  });

  it('is bounded, and settles what it took when more come than it takes', async () => {
    const { clock, queue } = setup();
    const copies = [copy(0)];
    for (let i = 0; i < 500_010; i++) queue.add(deletion(`${i}`, copies));
    await clock.advance(60_000);
    const first = queue.take(stored('t'));
    expect(first[0]!.id).toBe('0');
    queue.add(deletion('room again'));
    let count = first.length;
    for (let more = queue.take(stored('t')); more.length > 0; more = queue.take(stored('t')))
      count += more.length;
    expect(count).toBe(500_000);
    await clock.advance(60_000);
    expect(queue.take(stored('t')).map(({ id }) => id)).toEqual(['room again']);
  });

  it('does nothing any more once it is closed', async () => {
    const { clock, queue, sent } = setup();
    queue.add(deletion('a'));
    await queue.close();
    await queue.close();
    queue.add(deletion('b'));
    await clock.advance(200_000);
    expect(sent).toEqual([]);
    expect(queue.take(stored('t'))).toEqual([]);
  });
});

describe('SettleQueue, when its process ends,', () => {
  function processes() {
    const { clock, ledger, sent } = setup();
    const handover = new HeldHandover(clock);
    const nodes = [witness(), witness('i2')] as const;
    const start = () => {
      const queue = new SettleQueue(ledger, clock, new Succession(handover, nodes));
      queue.start();
      return queue;
    };
    const copies = [0, 1].map((index) => ({ index, node: nodes[index]!, instance: nodes[index]!.instance! }));
    return { clock, sent, handover, nodes, start, copies };
  }
  const settled = (id: string, mask = 0b11, over = {}) => ({
    id,
    generation: 0,
    mask,
    unknown: false,
    ...over,
  });

  it('tells what is certain, and leaves the rest to another, which tells it when that is certain', async () => {
    const { clock, sent, start, copies } = processes();
    const first = start();
    first.add(deletion('a', copies));
    await clock.advance(30_000);
    first.add({ ...deletion('b', copies, 'two'), generation: 7, unknown: true });
    first.add(deletion('c', copies));
    await clock.advance(30_000);
    const second = start();
    await first.close();
    expect(sent).toEqual([['t', [settled('a')]]]);
    await clock.advance(60_000);
    expect(sent).toHaveLength(1);
    await clock.advance(5_000);
    expect(sent.slice(1)).toEqual([
      ['two', [settled('b', 0b11, { generation: 7, unknown: true })]],
      ['t', [settled('c')]],
    ]);
    expect(second.size).toBe(0);
    await second.close();
  });

  it('leaves it to one that is there for long already, and not before it is certain', async () => {
    const { clock, handover, start, copies } = processes();
    const second = start();
    await clock.advance(61_000);
    const first = start();
    first.add(deletion('a', copies));
    await first.close();
    await clock.advance(59_000);
    expect([second.size, handover.left]).toEqual([0, [expect.anything()]]);
    await clock.advance(60_000);
    expect(second.take(stored('t'))).toEqual([settled('a')]);
  });

  it('leaves many in parts, together with those that were deleted alike', async () => {
    const { clock, start, copies, handover } = processes();
    const first = start();
    for (let i = 0; i < 1_200; i++)
      first.add(
        deletion(
          `${i}`,
          copies.map((copy) => ({ ...copy })),
        ),
      );
    const second = start();
    await first.close();
    expect(handover.left.map(([, { ids }]) => ids.length)).toEqual([500, 500, 200]);
    await clock.advance(60_000);
    expect([...second.take(stored('t')), ...second.take(stored('t'))].map(({ id }) => id)).toEqual(
      Array.from({ length: 1_200 }, (_, i) => `${i}`),
    );
  });

  it('has nobody tell of a copy whose server is another by then, or has stopped its log', async () => {
    const { clock, nodes, start, copies } = processes();
    const first = start();
    first.add(deletion('a', copies));
    await first.close();
    const second = start();
    nodes[0].instance = 'i3';
    await clock.advance(60_000);
    expect(second.take(stored('t'))).toEqual([settled('a', 0b10)]);
    second.add(deletion('b', copies.slice(1)));
    await second.close();
    const third = start();
    nodes[1].logStopped = true;
    await clock.advance(60_000);
    expect([third.take(stored('t')), third.size]).toEqual([[], 0]);
  });

  it('leaves it where it is while a node does not answer', async () => {
    const { clock, nodes, start, copies, handover } = processes();
    const first = start();
    first.add(deletion('a', copies));
    await first.close();
    const second = start();
    nodes[0].instance = undefined;
    await clock.advance(120_000);
    expect(handover.left).toHaveLength(1);
    nodes[0].instance = 'i1';
    await clock.advance(60_000);
    expect(second.take(stored('t'))).toEqual([settled('a')]);
  });

  it('does not wait for long where nobody answers', async () => {
    const { clock, start, copies, handover } = processes();
    handover.silent = true;
    const first = start();
    first.add(deletion('a', copies));
    let closed = false;
    void first.close().then(() => (closed = true));
    await clock.advance(499);
    expect(closed).toBe(false);
    await clock.advance(1);
    expect(closed).toBe(true);
  });
});
