import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { SharedTubes, end, type TubeOnNode } from '../../../spec-support/shared-tubes.js';

describe('SharedLanes, when a tube becomes busy', () => {
  let world: SharedTubes;

  beforeEach(() => {
    world = new SharedTubes();
  });

  afterEach(() => world.close());

  describe('a tube that gets two copies within a second', () => {
    let a: TubeOnNode;

    beforeEach(async () => {
      [a] = (await world.start('a', 'b')) as [TubeOnNode, TubeOnNode];
      await world.put('a');
      await world.put('a');
    });

    const ownWaits = () =>
      world.lines.filter((said) => said[0] === 'watch a' && !said.includes('watch b')).length;

    it('has lanes of its own, and leaves the shared wait', async () => {
      expect(ownWaits()).toBe(1);
      await world.clock.advance(5_000);
      await world.put('a');
      await world.put('a');
      expect(a.arrived).toHaveLength(4);
      expect(new Set(a.arrived.map(({ lane }) => lane)).size).toBeGreaterThan(2);
      expect(world.lines.flat()).toContain('ignore a');
    });

    it('keeps them for ten seconds without a copy, and closes them without a gap', async () => {
      a.arrived.forEach(end);
      await world.clock.advance(9_000);
      expect(await world.waiting()).toBe(2);
      await world.clock.advance(10_000);
      await world.settle();
      expect(await world.waiting()).toBe(1);
      expect(await world.lanes()).toBeLessThanOrEqual(4);
      await world.put('a');
      expect(a.arrived).toHaveLength(3);
    });

    it('keeps them while something is held there', async () => {
      await world.clock.advance(6_000); // the shared wait that began before is over
      await world.put('a');
      a.arrived.slice(0, 2).forEach(end);
      await world.clock.advance(60_000);
      expect(await world.waiting()).toBe(2);
      expect(a.arrived[2]!.held).toBe(true);
    });
  });

  it('makes a tube busy that gets a copy without room for it', async () => {
    const [a] = await world.start('a', 'b');
    a!.limit = 1;
    await world.put('a');
    await world.clock.advance(2_000);
    await world.put('a');
    await world.clock.advance(6_000);
    await world.put('a');
    await world.clock.advance(60_000);
    expect(a!.arrived).toHaveLength(2);
    a!.arrived.forEach(end);
    await world.settle();
    a!.consumer.advance();
    await world.settle();
    expect(a!.arrived).toHaveLength(3);
  });

  it('keeps reserving for a tube that can open no lane, as long as there is room', async () => {
    const [a, b] = await world.start('a', 'b');
    await world.put('b');
    world.openable = 0;
    a!.limit = 5;
    for (let i = 0; i < 8; i++) {
      await world.put('a');
      a!.consumer.advance();
      await world.clock.advance(300);
    }
    await world.clock.advance(20_000);
    expect(a!.arrived.length).toBeGreaterThanOrEqual(5);
    expect(a!.arrived.length).toBeLessThan(8);
    expect(b!.arrived[0]!.held).toBe(true);
    a!.arrived.forEach(end);
    a!.consumer.advance();
    await world.clock.advance(20_000);
    expect(a!.arrived).toHaveLength(8);
  });

  describe('with more busy tubes than there are lanes', () => {
    const names = Array.from({ length: 60 }, (_, i) => `t${i}`);

    it('has a bounded number of lanes, and brings the copies of all', async () => {
      const started = await world.start(...names);
      for (let round = 1; round <= 3; round++) {
        for (const name of names) await world.put(name);
        expect(started.filter(({ arrived }) => arrived.length !== round)).toEqual([]);
        started.forEach(({ arrived }) => arrived.forEach(end));
      }
      expect(world.clock.now()).toBe(0);
      const most = await world.lanes();
      expect(most).toBeGreaterThan(24);
      expect(most).toBeLessThanOrEqual(44);
      await world.clock.advance(30_000);
      await world.settle();
      expect(await world.lanes()).toBeLessThanOrEqual(4);
    });

    it('reserves nothing without room for a tube that got no lane, and resumes as soon as there is some', async () => {
      const started = await world.start(...names);
      for (let round = 0; round < 2; round++) for (const name of names) await world.put(name);
      started.forEach(({ arrived }) => arrived.forEach(end));
      const [without] = await world.start('late');
      without!.limit = 2;
      const putAll = async (count: number) => {
        for (let i = 0; i < count; i++) {
          await world.put('late');
          without!.consumer.advance();
          await world.clock.advance(50);
        }
      };
      await putAll(12);
      expect(world.lines.filter(([first]) => first === 'watch late')).toEqual([]);
      const held = () => without!.arrived.filter((delivery) => delivery.held).length;
      // Waits already begun still deliver: one job for each of the four shared lanes.
      expect(held()).toBeLessThanOrEqual(2 + 4);
      for (let i = 0; i < 12; i++) {
        without!.arrived.forEach(end);
        without!.consumer.advance();
        await world.clock.advance(200);
      }
      expect(without!.arrived).toHaveLength(12);
    });
  });

  it('resumes a tube that became busy without room, and whose lanes others have taken meanwhile', async () => {
    const names = Array.from({ length: 60 }, (_, i) => `t${i}`);
    const [full] = await world.start('full', ...names);
    full!.limit = 1;
    for (let i = 0; i < 3; i++) await world.put('full');
    full!.consumer.advance();
    for (let round = 0; round < 2; round++) for (const name of names) await world.put(name);
    const before = full!.arrived.length;
    for (let i = 0; i < 3; i++) {
      full!.arrived.forEach(end);
      full!.consumer.advance();
      await world.clock.advance(200);
    }
    await world.put('full');
    expect([before < 3, full!.arrived.length]).toEqual([true, 4]);
  });

  it('asks for more copies of quiet tubes at once, the more there are', async () => {
    const names = Array.from({ length: 40 }, (_, i) => `t${i}`);
    for (const name of names) await world.put(name);
    const started = await world.start(...names);
    expect(started.map(({ arrived }) => arrived.length)).toEqual(names.map(() => 1));
    expect(world.clock.now()).toBe(0);
    expect(await world.lanes()).toBeLessThanOrEqual(2);
    expect(world.lines.flat().filter((line) => line === 'reserve-with-timeout 5').length).toBeLessThanOrEqual(
      2,
    );
  });
});
