import { beforeEach, describe, expect, it } from '@jest/globals';
import { ClusterNode } from '../../cluster/cluster-node.js';
import { InProcessNode } from '../../embedded/in-process-node.js';
import { ScriptedNode, type Arrived } from '../../../spec-support/scripted-node.js';
import { busyTubeInEachTest, world, type Wire } from '../../../spec-support/busy-tube.js';

describe('ConsumerNode, when its node or its lanes fail', () => {
  busyTubeInEachTest();

  it('reserves nothing on a connection that may not watch its tube, says so, and tries another', async () => {
    const scripted = new ScriptedNode(world.clock);
    const { answers } = scripted;
    Object.assign(answers, {
      watch: () => 'OUT_OF_MEMORY',
      ignore: () => 'NOT_IGNORED',
      'reserve-with-timeout': () => 'RESERVED 1 3\r\njob',
    });
    world.node = new ClusterNode('node', scripted.dial, world.clock);
    world.consumer = world.consumerOf(world.node);
    world.node.listen({ trouble: (_node, message) => world.troubles.push(message) });
    await world.start();
    await world.clock.advance(2_000);
    expect(new Set(scripted.words)).toEqual(new Set(['watch', 'ignore']));
    expect(scripted.words.length).toBeGreaterThanOrEqual(6);
    expect(world.troubles).toEqual([expect.stringMatching(/tube tube \(OUT_OF_MEMORY: .*more memory$/)]);
    Object.assign(answers, {
      watch: () => 'WATCHING 2',
      ignore: () => 'WATCHING 1',
      'reserve-with-timeout': () => undefined,
    });
    scripted.arrived.length = 0;
    await world.clock.advance(5_000);
    expect(scripted.words.slice(0, 3)).toEqual(['watch', 'ignore', 'reserve-with-timeout']);
  });

  it('misses no refused lane once it has stopped', async () => {
    const scripted = new ScriptedNode(world.clock);
    Object.assign(scripted.answers, { watch: () => 'OUT_OF_MEMORY', ignore: () => 'NOT_IGNORED' });
    world.node = new ClusterNode('node', scripted.dial, world.clock);
    world.node.start();
    await world.settle();
    world.consumer = world.consumerOf(world.node);
    world.consumer.start();
    world.consumer.stop();
    await world.settle();
    expect(scripted.words).toContain('watch');
    expect(Reflect.get(world.node.lanes, 'failures')).toEqual(new Map());
  });

  it('makes a copy ready again that a release left buried', async () => {
    await world.start();
    const id = await world.putBody(Buffer.from('nonsense'));
    world.consumer['own'].releaseBuried(id);
    expect(world.troubles).toEqual([expect.stringContaining('BURIED')]);
    expect(await world.stats()).toMatchObject({ 'current-jobs-buried': '1' });
    world.poisons.length = 0;
    await world.clock.advance(5_000);
    await world.settle();
    expect(world.poisons).toHaveLength(1);
  });

  describe('on a node without room for its log', () => {
    let released: string[];
    let instance: ScriptedNode;

    beforeEach(async () => {
      let made = 0;
      released = [];
      instance = new ScriptedNode(world.clock);
      Object.assign(instance.counters, {
        'binlog-current-index': 1,
        'total-jobs': 9,
      });
      Object.assign(instance.answers, {
        watch: () => 'WATCHING 2',
        ignore: () => 'WATCHING 1',
        'reserve-with-timeout': () => {
          if (made === 3) return 'TIMED_OUT';
          const body = world.newJob();
          return `RESERVED ${++made} ${body.length}\r\n${body.toString('latin1')}`;
        },
        release: ({ line }: Arrived) => {
          released.push(line.replace(/ \d+ (?=\d+$)/, ' '));
          return line.endsWith(' 0') ? 'RELEASED' : 'OUT_OF_MEMORY';
        },
      });
      world.node = new ClusterNode('node', instance.dial, world.clock);
      world.limit = 3;
      world.consumer = world.consumerOf(world.node);
      await world.start();
      await world.clock.advance(100);
      expect(world.held()).toHaveLength(3);
    });

    it('reports the copy that nobody can reach, and releases the others without a delay when they are due', async () => {
      for (const delivery of world.held()) delivery.release(12);
      await world.clock.advance(0);
      expect(released).toEqual(['release 1 12']);
      expect(world.troubles).toEqual([
        expect.stringContaining('refused to take back a copy (OUT_OF_MEMORY)'),
      ]);
      expect(world.node.full).toBe(true);
      await world.clock.advance(11_900);
      expect([released.length, world.held().length]).toEqual([1, 2]);
      await world.clock.advance(200);
      expect(released.slice(1)).toEqual(['release 2 0', 'release 3 0']);
      expect(world.held()).toEqual([]);
    });

    it('releases them as soon as it has room again, and dead ones only then', async () => {
      for (const delivery of world.held()) delivery.release(3_600);
      await world.clock.advance(60_000);
      world.held()[1]!.bury(() => undefined);
      await world.clock.advance(0);
      expect(released).toHaveLength(1);
      instance.counters['total-jobs'] = 10;
      await world.clock.advance(10_000);
      expect(released.slice(1).toSorted()).toEqual(['release 2 0', 'release 3 0']);
    });
  });

  describe('when connections are lost', () => {
    it('forgets the deliveries of a lost lane, keeps those of the others, and opens it again', async () => {
      await world.start();
      const kept = await world.put();
      const id = await world.put();
      const [a, b] = world.lanes() as [Wire, Wire];
      b.stream.destroy();
      await world.settle();
      expect(world.lost.map(({ copyId }) => copyId)).toEqual([id]);
      expect(world.lost[0]!.held).toBe(false);
      expect(a.held).toContain(kept);
      await world.clock.advance(250);
      await world.settle();
      expect(world.held().length).toBe(2);
      expect(world.held()[1]!.copyId).toBe(id);
      expect(await world.waiting()).toBe(1);
    });

    it('waits again when the waiting lane is lost, and not on the dead one', async () => {
      await world.start();
      const [first] = world.lanes() as [Wire];
      first.stream.destroy();
      await world.clock.advance(250);
      await world.settle();
      expect(world.lanes().length).toBe(2);
      expect(first.count('reserve-with-timeout 5')).toBe(1);
      expect(await world.waiting()).toBe(1);
    });

    it('reserves nothing from a server that came back before its control connection is up', async () => {
      await world.start();
      const id = await world.put();
      const old = world.wires.length;
      const [control] = world.wires as [Wire];
      const gone = world.server;
      world.server = new InProcessNode(world.clock);
      for (const wire of world.lanes()) wire.stream.destroy();
      await world.settle();
      world.consumer.advance();
      await world.settle();
      expect(world.lost.map(({ copyId }) => copyId)).toEqual([id]);
      expect(world.wires.length).toBe(old);
      gone.close();
      await world.settle();
      expect(control.stream.destroyed).toBe(true);
      await world.clock.advance(100);
      await world.settle();
      expect(world.wires[old]!.lines[0]).toBe('stats');
      expect(world.wires.slice(old).filter(({ isLane }) => isLane).length).toBe(1);
      expect(await world.waiting()).toBe(1);
    });

    it('drops a wait from before the node was away, which may hang on a dead connection', async () => {
      await world.start();
      const [control, first] = world.wires as [Wire, Wire];
      control.stream.destroy();
      await world.clock.advance(100);
      await world.settle();
      expect(first.stream.destroyed).toBe(true);
      expect(world.lanes().length).toBe(2);
      expect(await world.waiting()).toBe(1);
    });

    it('reports lanes that cannot be opened, backs off, and is healthy once one is open', async () => {
      world.node.start();
      await world.settle();
      world.full = true;
      const before = world.wires.length;
      await world.start();
      expect(world.node.reason).toBe('up');
      await world.clock.advance(60_000);
      expect(world.node.reason).toMatch(/^cannot open a connection to reserve from tube tube \(.*EMFILE\)$/);
      expect(world.wires.length - before).toBeGreaterThan(5);
      expect(world.wires.length - before).toBeLessThan(20);
      world.full = false;
      await world.clock.advance(5_000);
      await world.settle();
      expect(world.node.reason).toBe('up');
      expect(await world.waiting()).toBe(1);
      world.lanes().at(-1)!.stream.destroy();
      await world.clock.advance(250);
      await world.settle();
      expect(await world.waiting()).toBe(1);
    });

    it('wants no lane, and so misses none, once it has stopped', async () => {
      world.node.start();
      await world.settle();
      world.full = true;
      await world.start();
      await world.clock.advance(1_000);
      expect(world.node.reason).not.toBe('up');
      world.consumer.stop();
      expect(world.node.reason).toBe('up');
    });

    it('begins when a node that was away comes up', async () => {
      world.server.close();
      await world.start();
      await world.clock.advance(10_000);
      expect(world.lanes().length).toBe(0);
      world.server = new InProcessNode(world.clock);
      await world.clock.advance(3_000);
      await world.settle();
      expect(await world.waiting()).toBe(1);
    });
  });
});
