import { describe, expect, it } from '@jest/globals';
import { copy, deletion, notingLedger, SETTLING, witnesses } from '../../spec-support/settling.js';
import { stored } from '../../spec-support/stored.js';
import type { VirtualClock } from 'nest-handlers/testing';
import type { Handover, LeftDeletions } from './handover.js';
import { SettleQueue } from './settle-queue.js';

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

describe('SettleQueue, when its process ends,', () => {
  function processes() {
    const { clock, ledger, sent } = notingLedger();
    const handover = new HeldHandover(clock);
    const nodes = witnesses();
    const start = () => {
      const queue = new SettleQueue(Object.assign(ledger, { handover }), clock, nodes, SETTLING);
      queue.start();
      return queue;
    };
    return { clock, sent, handover, nodes, start, copies: [copy(0), copy(1)] };
  }
  const settled = (id: string, mask = 0b11, over = {}) => ({
    id,
    generation: 0,
    mask,
    unknown: false,
    ...over,
  });

  it('settles what is certain, and leaves the rest to another process, which settles it when that is certain', async () => {
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

  it('hands over to a process that has long been there, and not before it is certain', async () => {
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

  it('has nobody report a copy whose server has since changed, or has stopped its log', async () => {
    const { clock, nodes, start, copies } = processes();
    const first = start();
    first.add(deletion('a', copies));
    await first.close();
    const second = start();
    nodes[0]!.instance = 'another';
    await clock.advance(60_000);
    expect(second.take(stored('t'))).toEqual([settled('a', 0b10)]);
    second.add(deletion('b', copies.slice(1)));
    await second.close();
    const third = start();
    nodes[1]!.logStopped = true;
    await clock.advance(60_000);
    expect([third.take(stored('t')), third.size]).toEqual([[], 0]);
  });

  it('leaves it where it is while a node does not answer', async () => {
    const { clock, nodes, start, copies, handover } = processes();
    const first = start();
    first.add(deletion('a', copies));
    await first.close();
    const second = start();
    nodes[0]!.instance = undefined;
    await clock.advance(120_000);
    expect(handover.left).toHaveLength(1);
    nodes[0]!.instance = 'i0';
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
