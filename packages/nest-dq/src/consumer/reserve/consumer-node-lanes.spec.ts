import { describe, expect, it } from '@jest/globals';
import { JobEnvelope } from '../../copies/formats/dq1.js';
import { copyBody } from '../../../spec-support/copy-body.js';
import { busyTubeInEachTest, world, type Wire } from '../../../spec-support/busy-tube.js';

describe('The lanes of a busy tube', () => {
  busyTubeInEachTest();

  it('keeps what the waiting lane got while another lane can wait', async () => {
    await world.start();
    const id = await world.put();
    expect(world.lanes().length).toBe(2);
    expect([...world.lanes()[0]!.held]).toEqual([id]);
    expect(world.lanes()[1]!.count('reserve-with-timeout 5')).toBe(1);
    expect(await world.waiting()).toBe(1);
  });

  it('picks up each new job at once, with at most three lanes, while 46 of 50 slots are held', async () => {
    world.limit = 50;
    await world.putMany(46);
    await world.start();
    expect(world.held().length).toBe(46);
    const now = world.clock.now();
    for (let count = 47; count <= 50; count++) {
      await world.put();
      expect(world.held().length).toBe(count);
    }
    for (let i = 0; i < 60; i++) {
      // A slot opens, and the next job takes it.
      const delivery = world.held().at(-1)!;
      delivery.lane.delete(delivery, () => undefined);
      world.consumer.advance();
      await world.settle();
      await world.put();
      expect(world.held().length).toBe(50);
    }
    expect(world.clock.now()).toBe(now);
    expect(world.lanes().length).toBe(3);
  });

  it('moves what the last lane that can wait got: a second’s delay, reserved by its id on another lane', async () => {
    await world.start();
    const first = await world.put();
    const second = await world.put();
    const [a, b, c] = world.lanes() as [Wire, Wire, Wire];
    expect([[...a.held], [...b.held], [...c.held]]).toEqual([[first], [second], []]);
    const third = await world.put();
    expect(c.lines.filter((line) => line.startsWith('release'))).toEqual([
      expect.stringMatching(/^release 3 \d+ 1$/),
    ]);
    expect(a.lines).toContain(`reserve-job ${third}`);
    expect([...a.held].length + [...b.held].length).toBe(3);
    expect([...c.held]).toEqual([]);
    expect(await world.waiting()).toBe(1);
    const fourth = await world.put();
    expect(b.lines).toContain(`reserve-job ${fourth}`);
    expect(world.held().map(({ copyId }) => copyId)).toEqual([first, second, third, fourth]);
  });

  it('leaves the lane that can wait free even when more came at once', async () => {
    await world.start();
    await world.put();
    await world.put();
    await world.putMany(5);
    expect(world.held().length).toBe(7);
    expect(world.lanes().map((wire) => wire.held.size)[2]).toBe(0);
    expect(await world.waiting()).toBe(1);
  });

  it('releases a copy that it moves with its place in the order', async () => {
    await world.start();
    await world.put();
    await world.put();
    const job = { id: 'late', due: Date.UTC(2029, 11, 31), generation: 0, copies: 1, priority: 2 };
    const id = await world.putBody(
      copyBody(new JobEnvelope(job, { type: 'void', bytes: Buffer.alloc(0) }), 0),
    );
    const [, , c] = world.lanes() as [Wire, Wire, Wire];
    const priority = 2 * 2 ** 30 + (Date.UTC(2029, 11, 31) - Date.UTC(2020, 0, 1)) / 1000;
    expect(c.lines).toContain(`release ${id} ${priority} 1`);
  });

  it('waits on a lane that holds nothing any more', async () => {
    world.limit = 2;
    await world.start();
    await world.put();
    await world.put();
    expect(await world.waiting()).toBe(0);
    const before = world.lanes().length;
    for (const delivery of world.held()) delivery.lane.delete(delivery, () => undefined);
    await world.settle();
    expect(await world.waiting()).toBe(1);
    expect(world.lanes().length).toBe(before);
  });

  it('polls where all three lanes hold something, because two are full', async () => {
    world.limit = 10_000;
    await world.putMany(2 * 1_024 + 5);
    await world.start();
    while (world.held().length < 2_053) await world.settle();
    expect(world.lanes().map((wire) => wire.held.size)).toEqual([1_024, 1_024, 5]);
    expect(await world.waiting()).toBe(0);
    await world.clock.advance(1_000);
    await world.put();
    await world.clock.advance(50);
    await world.settle();
    expect(world.held().length).toBe(2_054);
    expect(world.lanes().length).toBe(3);
  }, 30_000);

  it('buries poison that the last waiting lane gets, too', async () => {
    await world.start();
    await world.put();
    await world.put();
    await world.putBody(Buffer.from('nonsense'));
    expect(world.poisons).toHaveLength(1);
    expect(world.held().length).toBe(2);
    expect(await world.waiting()).toBe(1);
  });
});
