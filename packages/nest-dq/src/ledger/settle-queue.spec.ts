import { describe, expect, it, jest } from '@jest/globals';
import { copy, deletion, notingLedger, SETTLING, witnesses } from '../../spec-support/settling.js';
import { stored } from '../../spec-support/stored.js';
import type { Handover } from './handover.js';
import { keptAfter } from './ledger.js';
import { SettleQueue } from './settle-queue.js';

function setup() {
  const noting = notingLedger();
  const nodes = witnesses();
  return { ...noting, nodes, queue: new SettleQueue(noting.ledger, noting.clock, nodes, SETTLING) };
}

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
    const { clock, queue, nodes } = setup();
    queue.add(deletion('a', [copy(0), copy(1), copy(2)]));
    queue.add(deletion('b', [copy(1)]));
    queue.add(deletion('c', [{ index: 0, instance: 'i1' }]));
    queue.add(deletion('d', [{ index: 1, instance: 'i0' }]));
    nodes[1]!.instance = 'another';
    nodes[2]!.instance = undefined;
    await clock.advance(60_000);
    expect(queue.take(stored('t'))).toEqual([
      { id: 'a', generation: 0, mask: 0b001, unknown: false },
      { id: 'd', generation: 0, mask: 0b010, unknown: false },
    ]);
  });

  it('leaves out a copy whose node has stopped its log by then: a restart would bring it back', async () => {
    const { clock, queue, nodes } = setup();
    queue.add(deletion('a', [copy(0), copy(1)]));
    queue.add(deletion('b', [copy(1)]));
    nodes[1]!.logStopped = true;
    await clock.advance(60_000);
    expect(queue.take(stored('t'))).toEqual([{ id: 'a', generation: 0, mask: 0b001, unknown: false }]);
  });

  it('believes the node that says that the log has stopped, if two nodes are one server', async () => {
    const { clock, queue, nodes } = setup();
    queue.add(deletion('a', [copy(0), copy(2)]));
    nodes[1]!.instance = nodes[0]!.instance;
    nodes[1]!.logStopped = true;
    await clock.advance(60_000);
    expect(queue.take(stored('t'))).toEqual([{ id: 'a', generation: 0, mask: 0b100, unknown: false }]);
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

  it('settles nothing, and takes nothing over, where ends are remembered until all copies would be stale', async () => {
    const { clock, ledger, sent } = notingLedger();
    const doneTtl = keptAfter(SETTLING);
    const handover = { leave: jest.fn<Handover['leave']>(), take: jest.fn<Handover['take']>() };
    const settings = { ...SETTLING, doneTtl };
    const queue = new SettleQueue(Object.assign(ledger, { handover }), clock, witnesses(), settings);
    queue.start();
    queue.add(deletion('a'));
    expect(queue.size).toBe(0);
    await clock.advance(600_000);
    await queue.close();
    expect(sent).toEqual([]);
    expect(handover.take).not.toHaveBeenCalled();
    expect(handover.leave).not.toHaveBeenCalled();
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

  it('continues with those that come later', async () => {
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
