import { describe, expect, it } from '@jest/globals';
import { BeanstalkError } from '../../beanstalk/codec/beanstalk-error.js';
import type { Connection } from '../../beanstalk/connection.js';
import { RecordingConnection, heldDelivery, recordingLane } from '../../../spec-support/recording-lane.js';
import type { Delivery } from './delivery.js';
import { Lane, type LaneEvents } from './lane.js';

describe('Lane', () => {
  describe('when it is opened', () => {
    let events: string[];
    let connection: RecordingConnection;
    let lane: Lane;

    const open = (tube: string) => {
      events = [];
      connection = new RecordingConnection();
      lane = new Lane(
        connection as unknown as Connection,
        'i',
        undefined as never,
        {
          opened: () => events.push('opened'),
          refused: ({ code }: BeanstalkError) => events.push(code),
        } as unknown as LaneEvents,
      );
      lane.watch(new Set([tube]));
    };

    it('watches its tube and not the default one, whose jobs are others’, and is idle only then', () => {
      open('mail');
      expect(connection.said).toEqual(['watch mail', 'ignore default']);
      connection.answer(2);
      expect([lane.opening, lane.idle, events]).toEqual([true, false, []]);
      connection.answer(1);
      expect([lane.opening, lane.idle, events]).toEqual([false, true, ['opened']]);
    });

    it('watches the default one where that is its own', () => {
      open('default');
      expect(connection.said).toEqual(['watch default']);
      connection.answer(1);
      expect([lane.opening, events]).toEqual([false, ['opened']]);
    });

    it.each([
      ['watch', 0],
      ['ignore', 1],
    ])('is closed when its %s is refused, and reports it once', (_, answered) => {
      open('mail');
      for (let i = 0; i < answered; i++) connection.answer(2);
      while (connection.unanswered > 0) connection.answer(new BeanstalkError('OUT_OF_MEMORY', 'no'));
      expect([connection.closed, lane.opening, lane.idle, events]).toEqual([
        true,
        true,
        false,
        ['OUT_OF_MEMORY'],
      ]);
    });

    it('reports no refusal when its connection was lost', () => {
      open('mail');
      connection.closed = true;
      connection.answer(new BeanstalkError('CONNECTION_LOST', 'gone'));
      expect(events).toEqual([]);
    });
  });

  it('is idle while it neither waits nor holds, and is open', () => {
    const { lane, connection } = recordingLane();
    expect(lane.idle).toBe(true);
    lane.wait(() => undefined);
    expect([lane.idle, lane.waiting]).toEqual([false, true]);
    connection.answer('TIMED_OUT');
    expect([lane.idle, lane.waiting]).toEqual([true, false]);
    const delivery = heldDelivery(lane);
    expect(lane.idle).toBe(false);
    lane.release(delivery, 1);
    expect(lane.idle).toBe(true);
    connection.closed = true;
    expect(lane.idle).toBe(false);
  });

  it('is not idle while it asks for the tube of a copy that it has reserved', () => {
    const { lane, connection, said } = recordingLane();
    const idle: boolean[] = [];
    lane.statsOf('7', () => idle.push(lane.idle));
    lane.statsOf('8', () => idle.push(lane.idle));
    expect([lane.idle, said]).toEqual([false, ['stats-job 7', 'stats-job 8']]);
    connection.answer({ tube: 'mail' });
    connection.answer('NOT_FOUND');
    expect(idle).toEqual([false, true]);
  });

  it('gives what a wait brings, and nothing for TIMED_OUT and DEADLINE_SOON', () => {
    const { lane, connection, said } = recordingLane();
    const brought: unknown[] = [];
    const reserved = { id: '1', body: Buffer.from('x') };
    for (const reply of [reserved, 'TIMED_OUT', 'DEADLINE_SOON']) {
      lane.wait((got) => brought.push(got));
      connection.answer(reply);
    }
    expect(brought).toEqual([reserved, undefined, undefined]);
    expect(said).toEqual(['reserve 5', 'reserve 5', 'reserve 5']);
  });

  it('touches all it holds when a refill hears DEADLINE_SOON', () => {
    const { lane, connection, said } = recordingLane();
    heldDelivery(lane, { copyId: '1' });
    heldDelivery(lane, { copyId: '2' });
    const got: unknown[] = [];
    lane.refill(1, (reserved) => got.push(reserved));
    connection.answer('DEADLINE_SOON');
    expect(got).toEqual([undefined]);
    expect(said).toEqual(['reserve 0', 'touch 1', 'touch 2']);
  });

  it('drops a copy that is no longer its own, when it touches it', () => {
    const lost: string[] = [];
    const taker = { lost: ({ copyId }: Delivery) => lost.push(copyId) };
    const { lane, connection } = recordingLane();
    heldDelivery(lane, { copyId: '1', taker });
    heldDelivery(lane, { copyId: '2', taker });
    lane.touchAll();
    connection.answer('TOUCHED');
    connection.answer('NOT_FOUND');
    expect(lost).toEqual(['2']);
    expect(lane.held).toBe(1);
  });

  it('says nothing about a copy that it does not hold', () => {
    const { lane, said } = recordingLane();
    const delivery = heldDelivery(lane);
    lane.release(delivery, 3);
    lane.release(delivery, 3);
    const asked: boolean[] = [];
    lane.bury(delivery, (each) => asked.push(each));
    expect(asked).toEqual([false]);
    expect(said).toEqual([`release ${delivery.copyId} pri 3`]);
    expect(delivery.held).toBe(false);
  });

  it('does not take a new delivery of a copy for the old one', () => {
    const { lane, said } = recordingLane();
    const old = heldDelivery(lane, { copyId: '1' });
    lane.release(old, 0);
    const again = heldDelivery(lane, { copyId: '1' });
    lane.bury(old, () => undefined);
    expect(said).toEqual(['release 1 pri 0']);
    expect([old.held, again.held]).toEqual([false, true]);
  });

  it('reports when it no longer holds anything, whatever became of the last delivery', () => {
    let freed = 0;
    const { lane } = recordingLane({ freed: () => freed++ });
    const [a, b, c] = [heldDelivery(lane), heldDelivery(lane), heldDelivery(lane)];
    lane.release(a, 0);
    lane.bury(b, () => undefined);
    expect(freed).toBe(0);
    lane.delete(c, () => undefined);
    expect(freed).toBe(1);
  });

  it('says whether a copy was deleted', () => {
    const { lane, connection } = recordingLane();
    const results: boolean[] = [];
    for (const reply of ['DELETED', 'NOT_FOUND']) {
      lane.delete(heldDelivery(lane), (deleted) => results.push(deleted));
      connection.answer(reply);
    }
    expect(results).toEqual([true, false]);
  });

  it('reports a release that the server could only bury', () => {
    const buried: string[] = [];
    const { lane, connection } = recordingLane({ releaseBuried: (copyId) => buried.push(copyId) });
    lane.release(heldDelivery(lane, { copyId: '9' }), 5);
    connection.answer('BURIED');
    expect(buried).toEqual(['9']);
  });

  describe('where the server has to write its log', () => {
    const refusal = new BeanstalkError('OUT_OF_MEMORY', 'no');
    const setup = (full = { yet: false }) => {
      const [refusals, postponed]: [string[], [string, number][]] = [[], []];
      const events = {
        get full() {
          return full.yet;
        },
        writeRefused: ({ code }: BeanstalkError) => {
          refusals.push(code);
          full.yet = true;
        },
        postponed: ({ copyId }: Delivery, seconds: number) => postponed.push([copyId, seconds]),
      };
      const world = recordingLane(events);
      const hold = (count: number) =>
        Array.from({ length: count }, (_, i) => heldDelivery(world.lane, { copyId: String(i) }));
      return { ...world, refusals, postponed, hold };
    };

    it('releases copies in batches that double, each once the one before was taken', () => {
      const { lane, connection, said, hold } = setup();
      for (const delivery of hold(12)) lane.release(delivery, 3);
      const batches = [said.length];
      while (connection.unanswered > 0) {
        const before = said.length;
        while (said.length === before && connection.unanswered > 0) connection.answer('RELEASED');
        batches.push(said.length - before);
      }
      expect(batches).toEqual([1, 2, 4, 5, 0]);
      expect([lane.held, lane.idle]).toEqual([0, true]);
    });

    it('begins with one again when it holds nothing any more', () => {
      const { lane, connection, said, hold } = setup();
      const copies = hold(5);
      for (const delivery of copies.splice(0, 3)) lane.release(delivery, 3);
      for (let i = 0; i < 3; i++) connection.answer('RELEASED');
      for (const delivery of copies) lane.release(delivery, 3);
      expect(said).toHaveLength(4);
    });

    it.each(['release', 'bury'] as const)('loses one by a %s at most, and holds the others', (verb) => {
      const { lane, connection, said, hold, refusals, postponed } = setup();
      const asked: boolean[] = [];
      for (const delivery of hold(3)) {
        if (verb === 'bury') lane.bury(delivery, (each) => asked.push(each));
        else lane.release(delivery, 3);
      }
      expect(asked).toEqual([]);
      connection.answer(refusal);
      expect(new Set(asked)).toEqual(new Set(verb === 'bury' ? [true, false] : []));
      expect(said).toHaveLength(1);
      expect(refusals).toEqual(['OUT_OF_MEMORY']);
      const seconds = verb === 'bury' ? Infinity : 3;
      expect(postponed).toEqual([
        ['1', seconds],
        ['2', seconds],
      ]);
      expect(lane.held).toBe(2);
    });

    it('releases at once without a delay, which needs no log', () => {
      const { lane, said, hold, postponed } = setup({ yet: true });
      for (const delivery of hold(2)) lane.release(delivery, 0);
      lane.releaseReserved('9', 0, 1, () => undefined);
      expect(said).toEqual(['release 0 pri 0', 'release 1 pri 0', 'release 9 pri 0']);
      expect(postponed).toEqual([]);
    });

    it('says nothing of a copy that was deleted meanwhile', () => {
      const { lane, connection, said, hold } = setup();
      const [a, b, c] = hold(3) as [Delivery, Delivery, Delivery];
      for (const delivery of [a, b, c]) lane.release(delivery, 3);
      lane.delete(b, () => undefined);
      connection.answer('RELEASED');
      expect(said).toEqual(['release 0 pri 3', 'delete 1', 'release 2 pri 3']);
    });

    it('says of each burial whether the server was asked, once it has answered', () => {
      const { lane, connection, hold } = setup();
      const asked: [number, boolean][] = [];
      const copies = hold(3);
      copies.forEach((each, i) => lane.bury(each, (is) => asked.push([i, is])));
      lane.delete(copies[1]!, () => undefined);
      expect(asked).toEqual([]);
      connection.answer('BURIED');
      expect(asked).toEqual([
        [1, false],
        [0, true],
      ]);
      connection.answer('DELETED');
      connection.answer('NOT_FOUND');
      expect(asked.at(-1)).toEqual([2, true]);
    });

    it('sends what waits before it quits', () => {
      const { lane, said, hold } = setup();
      for (const delivery of hold(3)) lane.release(delivery, 3);
      lane.quit();
      expect(said.slice(1)).toEqual(['release 1 pri 3', 'release 2 pri 3', 'quit']);
    });

    it('also reports the refused burial of a body that is no envelope', () => {
      const { lane, connection, refusals } = setup();
      let done = 0;
      lane.buryBody('7', () => done++);
      connection.answer(refusal);
      expect([refusals, done]).toEqual([['OUT_OF_MEMORY'], 1]);
    });
  });

  it('forgets all it held when its connection is gone', async () => {
    const lost: string[] = [];
    const { lane } = recordingLane();
    const taker = { lost: ({ copyId }: Delivery) => lost.push(copyId) };
    const delivery = heldDelivery(lane, { copyId: '1', taker });
    lane.forget();
    lane.forget();
    await lane.gone;
    expect(lost).toEqual(['1']);
    expect(delivery.held).toBe(false);
  });
});
