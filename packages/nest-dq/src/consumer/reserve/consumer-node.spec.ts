import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Stats } from '../../beanstalk/connection.js';
import { busyTubeInEachTest, world } from '../../../spec-support/busy-tube.js';

describe('ConsumerNode, while its tube is busy', () => {
  busyTubeInEachTest();

  it('has exactly one lane on an empty node, and it waits', async () => {
    await world.start();
    expect(world.lanes().length).toBe(1);
    expect(await world.waiting()).toBe(1);
    world.consumer.start();
    world.consumer.advance();
    world.consumer.advance();
    await world.settle();
    expect(world.lanes().length).toBe(1);
    expect(world.waits()).toBe(1);
  });

  it('waits again after a wait that brought nothing', async () => {
    await world.start();
    await world.clock.advance(4_999);
    expect(world.waits()).toBe(1);
    await world.clock.advance(2);
    await world.settle();
    expect(world.waits()).toBe(2);
    expect(world.lanes().length).toBe(1);
    expect(await world.waiting()).toBe(1);
  });

  describe('after an early copy', () => {
    beforeEach(async () => {
      await world.start();
      world.early = true;
      await world.put();
    });

    it('pauses, and then takes all that came in one request', async () => {
      const refills = () =>
        world.lanes().reduce((sum, wire) => sum + wire.count('reserve-with-timeout 0'), 0);
      const before = refills();
      for (let i = 0; i < 3; i++) await world.put();
      world.consumer.advance();
      expect([world.held().length, refills()]).toEqual([1, before]);
      await world.clock.advance(5);
      await world.settle();
      expect([world.held().length, refills()]).toEqual([4, before + 4]);
      expect(await world.waiting()).toBe(1);
    });

    it('does not pause for what such a request brings', async () => {
      for (let i = 0; i < 5; i++) await world.put();
      await world.clock.advance(5);
      await world.settle();
      expect(world.held().length).toBe(6);
    });

    it('pauses where the copy was moved to another lane, too', async () => {
      await world.clock.advance(5);
      await world.put();
      await world.clock.advance(5);
      await world.put();
      expect(
        world.lanes().flatMap(({ lines }) => lines.filter((line) => line.startsWith('reserve-job'))),
      ).toHaveLength(1);
      await world.put();
      expect(world.held().length).toBe(3);
      await world.clock.advance(5);
      await world.settle();
      expect(world.held().length).toBe(4);
    });

    it('asks again at once when it was stopped in between', async () => {
      world.consumer.stop();
      await world.put();
      await world.start();
      expect(world.held().length).toBe(2);
    });
  });

  it('asks for nothing without room, and takes what is there as soon as room opens', async () => {
    world.limit = 0;
    await world.start();
    await world.putMany(3);
    await world.clock.advance(20_000);
    expect(world.lanes().length).toBe(0);
    world.limit = 2;
    world.consumer.advance();
    await world.settle();
    expect(world.held().length).toBe(2);
    expect(await world.waiting()).toBe(0);
    world.limit = 3;
    world.consumer.advance();
    await world.settle();
    expect(world.held().length).toBe(3);
  });

  it('never asks for more than it has room for', async () => {
    await world.putMany(50);
    world.limit = 7;
    await world.start();
    expect(world.held().length).toBe(7);
    expect(
      world.lanes().reduce((sum, { lines }) => sum + lines.filter((l) => l.startsWith('reserve')).length, 0),
    ).toBe(7);
  });

  it('reports when its questions are answered, so that others may use the room that is left', async () => {
    await world.start();
    expect(world.roomsLeft).toBe(1);
    await world.putMany(3);
    expect(world.roomsLeft).toBeGreaterThan(1);
  });

  it('takes a backlog in batches that double while they are full', async () => {
    await world.putMany(60);
    const batches: number[] = [];
    let before = 0;
    world.consumer.start();
    for (let i = 0; i < 40; i++) {
      await new Promise<void>((resolve) => setImmediate(resolve));
      const [lane] = world.lanes();
      const asked = lane?.count('reserve-with-timeout 0') ?? 0;
      if (asked > before) batches.push(asked - before);
      before = asked;
    }
    expect(batches).toEqual([4, 8, 16, 32, 40]);
    expect(world.held().length).toBe(60);
    await world.settle();
    expect(await world.waiting()).toBe(1);
  });

  it('touches what it holds when the server says that its time is nearly over', async () => {
    await world.start();
    const id = await world.put(3);
    await world.clock.advance(2_100);
    await world.put(); // so that the lane that holds the first asks for more
    expect(world.lanes()[0]!.lines).toContain(`touch ${id}`);
    await world.clock.advance(1_500);
    expect(world.lost.length).toBe(0);
    const job = world.other().ask<Stats | 'NOT_FOUND'>((done) => world.other().statsJob(id, done));
    await world.settle();
    expect(await job).toMatchObject({ state: 'reserved' });
  });

  it('buries a body that is no envelope, reports it, and continues', async () => {
    await world.putBody(Buffer.from('nonsense'));
    await world.start();
    await world.putBody(Buffer.from('dq1 {"id":"x"}\n'));
    expect(world.poisons).toEqual([
      expect.stringMatching(/^1: it does not begin/),
      expect.stringMatching(/^2: its header/),
    ]);
    await world.clock.advance(60_000);
    expect(world.poisons).toHaveLength(2);
    expect(await world.stats()).toMatchObject({ 'current-jobs-buried': '2', 'current-jobs-reserved': '0' });
    await world.put();
    expect(world.held().length).toBe(1);
  });

  it('asks for nothing while it pauses; what its open wait brings arrives all the same', async () => {
    await world.start();
    world.consumer.pause();
    await world.put();
    expect(world.arrived.length).toBe(1);
    await world.put();
    await world.clock.advance(30_000);
    expect(world.arrived.length).toBe(1);
    expect(await world.waiting()).toBe(0);
    world.consumer.start();
    await world.settle();
    expect(world.arrived.length).toBe(2);
    expect(await world.waiting()).toBe(1);
  });

  it('stops waiting at once, holds what it has, and releases it when it closes', async () => {
    await world.start();
    await world.put();
    world.consumer.stop();
    world.consumer.stop();
    await world.settle();
    expect(await world.waiting()).toBe(0);
    expect(world.held().length).toBe(1);
    await world.clock.advance(30_000);
    expect(world.lanes().length).toBe(2);
    await Promise.all([world.consumer.close(), world.settle()]);
    expect(world.held().length).toBe(0);
    expect(await world.stats()).toMatchObject({ 'current-jobs-ready': '1', 'current-jobs-reserved': '0' });
  });

  it('closes before it was started', async () => {
    await world.consumer.close();
    world.consumer.advance();
    await world.settle();
    expect(world.wires.length).toBe(0);
  });
});
