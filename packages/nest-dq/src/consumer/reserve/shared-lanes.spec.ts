import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { SharedTubes, end } from '../../../spec-support/shared-tubes.js';

describe('SharedLanes', () => {
  let world: SharedTubes;

  beforeEach(() => {
    world = new SharedTubes();
  });

  afterEach(() => world.close());

  const names = (count: number) => Array.from({ length: count }, (_, i) => `t${i}`);

  it('waits for all tubes on one connection, and ignores the default one', async () => {
    await world.start(...names(50));
    expect([await world.lanes(), await world.waiting()]).toEqual([1, 1]);
    expect(world.lines[0]!.filter((line) => line.startsWith('watch'))).toHaveLength(50);
    expect(world.lines[0]!.at(-1)).toBe('reserve-with-timeout 5');
    expect(world.lines[0]).toContain('ignore default');
  });

  it('gives each copy to its tube at once, and waits on', async () => {
    const started = await world.start(...names(10));
    for (const [i, { arrived }] of started.entries()) {
      await world.put(`t${i}`);
      expect(arrived).toHaveLength(1);
      expect(await world.waiting()).toBe(1);
    }
    expect(world.clock.now()).toBe(0);
    expect(await world.lanes()).toBeLessThanOrEqual(4);
  });

  it('asks for the tube of a copy only where the wait watched several', async () => {
    const asked = () => world.lines.flat().filter((line) => line.startsWith('stats-job'));
    const [a] = await world.start('a');
    await world.put('a');
    expect([a!.arrived.length, asked()]).toEqual([1, []]);
    await world.clock.advance(2_000);
    const [b] = await world.start('b'); // on another lane: the wait for `a` continues
    expect(await world.waiting()).toBe(2);
    await world.put('b');
    expect([a!.arrived.length, b!.arrived.length, asked()]).toEqual([1, 1, ['stats-job 2']]);
    await world.put('a');
    expect([a!.arrived.length, b!.arrived.length]).toEqual([2, 1]);
  });

  it('knows the tube of a copy that it moves to another lane', async () => {
    const [a] = await world.start('a');
    for (let i = 0; i < 4; i++) {
      await world.put('a');
      await world.clock.advance(2_000);
    }
    expect(world.lines.flat().filter((line) => line.startsWith('reserve-job'))).toEqual(['reserve-job 4']);
    expect(world.lines.flat().filter((line) => line.startsWith('stats-job'))).toEqual([]);
    expect(a!.arrived.map(({ held }) => held)).toEqual([true, true, true, true]);
  });

  it('does not wait on the lane that has the copy, so that commands about it are answered at once', async () => {
    const [a] = await world.start('a', 'b');
    await world.put('a');
    a!.arrived.forEach(end);
    expect(await world.stats()).toMatchObject({ 'current-jobs-reserved': '0', 'cmd-delete': '1' });
    expect([world.clock.now(), await world.waiting()]).toEqual([0, 1]);
  });

  it('waits at once for a tube that comes later, alongside the old wait', async () => {
    await world.start('a', 'b');
    await world.clock.advance(1_000);
    const [late] = await world.start('late');
    expect([await world.lanes(), await world.waiting()]).toEqual([2, 2]);
    await world.put('late');
    expect(late!.arrived).toHaveLength(1);
    await world.clock.advance(10_000);
    await world.settle();
    expect(await world.waiting()).toBe(1);
  });

  it('waits at once for a tube that comes back, although an old wait for it is still open', async () => {
    const [a] = await world.start('a', 'b');
    await world.clock.advance(1_000);
    a!.consumer.pause();
    await world.start('c');
    await world.clock.advance(1_000);
    a!.consumer.start();
    await world.settle();
    await world.clock.advance(3_500); // the wait of the beginning is over, that of `b` and `c` is not
    await world.put('a');
    expect(a!.arrived).toHaveLength(1);
  });

  it('waits again for a tube that left before a wait began for it', async () => {
    const [a] = await world.start('a');
    a!.consumer.pause();
    await world.clock.advance(6_000);
    expect(await world.waiting()).toBe(0);
    a!.consumer.start();
    a!.consumer.pause();
    await world.settle();
    a!.consumer.start();
    await world.settle();
    expect(await world.waiting()).toBe(1);
    await world.put('a');
    expect(a!.arrived).toHaveLength(1);
  });

  it('waits at once for a tube that comes later, even where all lanes hold something or wait', async () => {
    const started = await world.start(...names(3));
    for (let i = 0; i < 3; i++) await world.put(`t${i}`);
    expect(started.map(({ arrived }) => arrived.length)).toEqual([1, 1, 1]);
    expect([await world.lanes(), await world.waiting()]).toEqual([4, 1]);
    const [late] = await world.start('late');
    await world.put('late');
    expect(late!.arrived).toHaveLength(0);
    await world.clock.advance(250);
    await world.settle();
    expect(late!.arrived).toHaveLength(1);
    expect(started.every(({ arrived }) => arrived[0]!.held)).toBe(true);
  });

  it('releases the copy of a tube that has stopped, for others to take, and asks for no more', async () => {
    const [, gone] = await world.start('a', 'gone');
    gone!.consumer.stop();
    await world.put('gone');
    expect(gone!.arrived).toEqual([]);
    expect(await world.stats()).toMatchObject({ 'current-jobs-ready': '1', 'current-jobs-reserved': '0' });
    await world.clock.advance(20_000);
    const releases = world.lines.flat().filter((line) => line.startsWith('release'));
    expect(releases).toEqual([expect.stringMatching(/^release 1 1 0$/)]);
    expect(await world.waiting()).toBe(1);
  });

  it('releases the deliveries of a closing tube, and not those of others', async () => {
    const [a, b] = await world.start('a', 'b');
    await world.put('a');
    await world.put('b');
    await Promise.all([a!.consumer.close(), world.settle()]);
    expect([a!.arrived[0]!.held, b!.arrived[0]!.held]).toEqual([false, true]);
    expect(await world.stats()).toMatchObject({ 'current-jobs-ready': '1', 'current-jobs-reserved': '1' });
  });

  it('has no connection left once all have closed, and reconnects when one starts', async () => {
    const started = await world.start('a', 'b');
    await world.put('a');
    for (const { consumer } of started) consumer.stop();
    await world.settle();
    expect(await world.waiting()).toBe(0);
    expect(started[0]!.arrived[0]!.held).toBe(true);
    await Promise.all([...started.map(({ consumer }) => consumer.close()), world.settle()]);
    expect(await world.lanes()).toBe(0);
    await world.start('c');
    expect(await world.waiting()).toBe(1);
  });

  it('touches what one tube holds, and nothing else', async () => {
    const [a] = await world.start('a', 'b');
    await world.put('a');
    await world.put('b');
    a!.consumer.touchAll();
    await world.settle();
    expect(world.lines.flat().filter((line) => line.startsWith('touch'))).toEqual(['touch 1']);
  });

  it('reports each tube its own copies when a lane is lost, and takes them again', async () => {
    const [a, b] = await world.start('a', 'b');
    await world.put('a');
    world.streams[1]!.destroy();
    await world.settle();
    expect(a!.arrived[0]!.held).toBe(false);
    await world.put('b');
    await world.clock.advance(250);
    await world.settle();
    expect([a!.arrived.length, b!.arrived.length]).toEqual([2, 1]);
  });

  it('asks nothing of a lane whose question has no reply: it could wait, and not hear what it then holds', async () => {
    const [a, b, c] = await world.start('a', 'b', 'c');
    world.openable = 0;
    await world.put('a'); // no second lane can be opened, so the lanes look again in 50 ms
    world.latency = 40;
    end(a!.arrived[0]!);
    await world.put('b');
    await world.clock.advance(45); // the wait has brought it, and the next copy is asked for
    await world.put('c');
    await world.clock.advance(37);
    expect([b!.arrived.length, c!.arrived.length]).toEqual([1, 0]);
    end(b!.arrived[0]!);
    await world.clock.advance(118);
    expect(c!.arrived).toHaveLength(1);
  });
});
