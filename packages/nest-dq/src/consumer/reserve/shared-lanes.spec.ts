import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Duplex } from 'node:stream';
import { Connection, type Stats } from '../../beanstalk/connection.js';
import { ClusterNode } from '../../cluster/cluster-node.js';
import { InProcessNode } from '../../embedded/in-process-node.js';
import { JobEnvelope } from '../../copies/formats/dq1.js';
import { copyBody } from '../../../spec-support/copy-body.js';
import { stored } from '../../../spec-support/stored.js';
import { VirtualClock } from '../../test-kit/virtual-clock.js';
import { ConsumerNode } from './consumer-node.js';
import type { Delivery } from './delivery.js';
import type { ConsumerReport } from '../report.js';
import { SharedLanesOfNodes } from './shared-lanes.js';

/** One tube of the process, and what came of it. */
interface Tube {
  readonly consumer: ConsumerNode;
  readonly arrived: Delivery[];
  limit: number;
}

describe('SharedLanes', () => {
  let clock: VirtualClock;
  let server: InProcessNode;
  let node: ClusterNode;
  let sharedLanes: SharedLanesOfNodes;
  const report = { nodeTrouble: () => undefined } as unknown as ConsumerReport;
  let streams: Duplex[];
  /** What was said on each connection but the first, which is for control. */
  let lines: string[][];
  /** The process can open so many connections more. */
  let openable: number;
  let tubes: Map<string, Tube>;
  let other: Connection;
  let made: number;

  beforeEach(() => {
    clock = new VirtualClock();
    server = new InProcessNode(clock);
    streams = [];
    lines = [];
    openable = Infinity;
    tubes = new Map();
    made = 0;
    const dial = () => {
      const stream = server.dial();
      if (openable-- <= 0) return stream.destroy(new Error('connect EMFILE'));
      if (streams.push(stream) === 1) return stream;
      const said: string[] = [];
      lines.push(said);
      const write = stream.write.bind(stream) as (chunk: unknown, encoding: BufferEncoding) => boolean;
      stream.write = ((chunk: Buffer | string, encoding: BufferEncoding) => {
        said.push(...chunk.toString('latin1').split('\r\n').slice(0, -1));
        return write(chunk, encoding);
      }) as Duplex['write'];
      return stream;
    };
    node = new ClusterNode('node', dial, clock);
    sharedLanes = new SharedLanesOfNodes(clock, report);
    other = new Connection(server.dial(), { clock, deadline: 1e12 });
  });

  afterEach(async () => {
    const closed = Promise.all(Array.from(tubes.values(), ({ consumer }) => consumer.close()));
    await clock.advance(1_000);
    await closed;
    node.close();
    server.close();
    await settle();
  });

  /** Lets all happen that takes no time. */
  async function settle(): Promise<void> {
    for (let i = 0; i < 6; i++) await clock.advance(0);
  }

  function prepare(name: string): Tube {
    const arrived: Delivery[] = [];
    const tube: Tube = {
      arrived,
      limit: 10,
      consumer: new ConsumerNode({ tube: name, storedAs: stored(name), clock, report, sharedLanes }, node, {
        room: () => tube.limit - arrived.filter(({ held }) => held).length,
        arrived: (delivery) => {
          arrived.push(delivery);
          return false;
        },
        roomLeft: () => undefined,
        lost: () => undefined,
      }),
    };
    tubes.set(name, tube);
    return tube;
  }

  async function start(...names: string[]): Promise<Tube[]> {
    const started = names.map(prepare);
    for (const { consumer } of started) consumer.start();
    await settle();
    return started;
  }

  async function put(tube: string): Promise<void> {
    const job = { id: `job-${made++}`, due: 0, generation: 0, copies: 1, priority: 1 };
    const body = copyBody(new JobEnvelope(job, { type: 'void', bytes: Buffer.alloc(0) }), 0);
    other.put(tube, [body], { priority: 1, delay: 0, ttr: 600 }, () => undefined);
    await settle();
  }

  async function stats(): Promise<Stats> {
    const asked = other.ask<Stats>((done) => other.stats(done));
    await settle();
    return asked;
  }

  const end = (delivery: Delivery) => delivery.lane.delete(delivery, () => undefined);
  /** Connections to the node, without those for control and of this spec. */
  const lanes = async () => Number((await stats())['current-connections']) - 2;
  const waiting = async () => Number((await stats())['current-waiting']);
  const names = (count: number) => Array.from({ length: count }, (_, i) => `t${i}`);

  it('waits for all tubes on one connection, and ignores the default one', async () => {
    await start(...names(50));
    expect([await lanes(), await waiting()]).toEqual([1, 1]);
    expect(lines[0]!.filter((line) => line.startsWith('watch'))).toHaveLength(50);
    expect(lines[0]!.at(-1)).toBe('reserve-with-timeout 5');
    expect(lines[0]).toContain('ignore default');
  });

  it('gives each copy to its tube at once, and waits on', async () => {
    const started = await start(...names(10));
    for (const [i, { arrived }] of started.entries()) {
      await put(`t${i}`);
      expect(arrived).toHaveLength(1);
      expect(await waiting()).toBe(1);
    }
    expect(clock.now()).toBe(0);
    expect(await lanes()).toBeLessThanOrEqual(4);
  });

  it('asks for the tube of a copy only where the wait watched several', async () => {
    const asked = () => lines.flat().filter((line) => line.startsWith('stats-job'));
    const [a] = await start('a');
    await put('a');
    expect([a!.arrived.length, asked()]).toEqual([1, []]);
    await clock.advance(2_000);
    const [b] = await start('b'); // on another lane: the wait for `a` goes on
    expect(await waiting()).toBe(2);
    await put('b');
    expect([a!.arrived.length, b!.arrived.length, asked()]).toEqual([1, 1, ['stats-job 2']]);
    await put('a');
    expect([a!.arrived.length, b!.arrived.length]).toEqual([2, 1]);
  });

  it('knows the tube of a copy that it moves to another lane', async () => {
    const [a] = await start('a');
    for (let i = 0; i < 4; i++) {
      await put('a');
      await clock.advance(2_000);
    }
    expect(lines.flat().filter((line) => line.startsWith('reserve-job'))).toEqual(['reserve-job 4']);
    expect(lines.flat().filter((line) => line.startsWith('stats-job'))).toEqual([]);
    expect(a!.arrived.map(({ held }) => held)).toEqual([true, true, true, true]);
  });

  it('does not wait on the lane that has the copy, so that what is said of it is heard at once', async () => {
    const [a] = await start('a', 'b');
    await put('a');
    a!.arrived.forEach(end);
    expect(await stats()).toMatchObject({ 'current-jobs-reserved': '0', 'cmd-delete': '1' });
    expect([clock.now(), await waiting()]).toEqual([0, 1]);
  });

  it('waits at once for a tube that comes later, and beside the old wait', async () => {
    await start('a', 'b');
    await clock.advance(1_000);
    const [late] = await start('late');
    expect([await lanes(), await waiting()]).toEqual([2, 2]);
    await put('late');
    expect(late!.arrived).toHaveLength(1);
    await clock.advance(10_000);
    await settle();
    expect(await waiting()).toBe(1);
  });

  it('waits at once for a tube that comes back, although an old wait goes on for it', async () => {
    const [a] = await start('a', 'b');
    await clock.advance(1_000);
    a!.consumer.pause();
    await start('c');
    await clock.advance(1_000);
    a!.consumer.start();
    await settle();
    await clock.advance(3_500); // the wait of the beginning is over, that of `b` and `c` is not
    await put('a');
    expect(a!.arrived).toHaveLength(1);
  });

  it('waits at once for a tube that comes later, also where all lanes hold something or wait', async () => {
    const started = await start(...names(3));
    for (let i = 0; i < 3; i++) await put(`t${i}`);
    expect(started.map(({ arrived }) => arrived.length)).toEqual([1, 1, 1]);
    expect([await lanes(), await waiting()]).toEqual([4, 1]);
    const [late] = await start('late');
    await put('late');
    expect(late!.arrived).toHaveLength(0);
    await clock.advance(250);
    await settle();
    expect(late!.arrived).toHaveLength(1);
    expect(started.every(({ arrived }) => arrived[0]!.held)).toBe(true);
  });

  it('releases the copy of a tube that has stopped, for others to take, and asks for no more', async () => {
    const [, gone] = await start('a', 'gone');
    gone!.consumer.stop();
    await put('gone');
    expect(gone!.arrived).toEqual([]);
    expect(await stats()).toMatchObject({ 'current-jobs-ready': '1', 'current-jobs-reserved': '0' });
    await clock.advance(20_000);
    const releases = lines.flat().filter((line) => line.startsWith('release'));
    expect(releases).toEqual([expect.stringMatching(/^release 1 1 0$/)]);
    expect(await waiting()).toBe(1);
  });

  it('releases what a tube holds that closes, and not what others hold', async () => {
    const [a, b] = await start('a', 'b');
    await put('a');
    await put('b');
    await Promise.all([a!.consumer.close(), settle()]);
    expect([a!.arrived[0]!.held, b!.arrived[0]!.held]).toEqual([false, true]);
    expect(await stats()).toMatchObject({ 'current-jobs-ready': '1', 'current-jobs-reserved': '1' });
  });

  it('has no connection left once all have closed, and again some when one starts', async () => {
    const started = await start('a', 'b');
    await put('a');
    for (const { consumer } of started) consumer.stop();
    await settle();
    expect(await waiting()).toBe(0);
    expect(started[0]!.arrived[0]!.held).toBe(true);
    await Promise.all([...started.map(({ consumer }) => consumer.close()), settle()]);
    expect(await lanes()).toBe(0);
    await start('c');
    expect(await waiting()).toBe(1);
  });

  it('touches what one tube holds, and nothing else', async () => {
    const [a] = await start('a', 'b');
    await put('a');
    await put('b');
    a!.consumer.touchAll();
    await settle();
    expect(lines.flat().filter((line) => line.startsWith('touch'))).toEqual(['touch 1']);
  });

  it('tells each tube of its own copies when a lane is lost, and takes them again', async () => {
    const [a, b] = await start('a', 'b');
    await put('a');
    streams[1]!.destroy();
    await settle();
    expect(a!.arrived[0]!.held).toBe(false);
    await put('b');
    await clock.advance(250);
    await settle();
    expect([a!.arrived.length, b!.arrived.length]).toEqual([2, 1]);
  });

  describe('a tube that gets two copies within a second', () => {
    let a: Tube;

    beforeEach(async () => {
      [a] = (await start('a', 'b')) as [Tube, Tube];
      await put('a');
      await put('a');
    });

    const ownWaits = () => lines.filter((said) => said[0] === 'watch a' && !said.includes('watch b')).length;

    it('has lanes of its own, and leaves the shared wait', async () => {
      expect(ownWaits()).toBe(1);
      await clock.advance(5_000);
      await put('a');
      await put('a');
      expect(a.arrived).toHaveLength(4);
      expect(new Set(a.arrived.map(({ lane }) => lane)).size).toBeGreaterThan(2);
      expect(lines.flat()).toContain('ignore a');
    });

    it('keeps them for ten seconds without a copy, and closes them without a gap', async () => {
      a.arrived.forEach(end);
      await clock.advance(9_000);
      expect(await waiting()).toBe(2);
      await clock.advance(10_000);
      await settle();
      expect(await waiting()).toBe(1);
      expect(await lanes()).toBeLessThanOrEqual(4);
      await put('a');
      expect(a.arrived).toHaveLength(3);
    });

    it('keeps them while something is held there', async () => {
      await clock.advance(6_000); // the shared wait that began before is over
      await put('a');
      a.arrived.slice(0, 2).forEach(end);
      await clock.advance(60_000);
      expect(await waiting()).toBe(2);
      expect(a.arrived[2]!.held).toBe(true);
    });
  });

  it('makes a tube busy that gets a copy without room for it', async () => {
    const [a] = await start('a', 'b');
    a!.limit = 1;
    await put('a');
    await clock.advance(2_000);
    await put('a');
    await clock.advance(6_000);
    await put('a');
    await clock.advance(60_000);
    expect(a!.arrived).toHaveLength(2);
    a!.arrived.forEach(end);
    await settle();
    a!.consumer.advance();
    await settle();
    expect(a!.arrived).toHaveLength(3);
  });

  it('goes on for a tube that can open no lane, as long as there is room', async () => {
    const [a, b] = await start('a', 'b');
    await put('b');
    openable = 0;
    a!.limit = 5;
    for (let i = 0; i < 8; i++) {
      await put('a');
      a!.consumer.advance();
      await clock.advance(300);
    }
    await clock.advance(20_000);
    expect(a!.arrived.length).toBeGreaterThanOrEqual(5);
    expect(a!.arrived.length).toBeLessThan(8);
    expect(b!.arrived[0]!.held).toBe(true);
    a!.arrived.forEach(end);
    a!.consumer.advance();
    await clock.advance(20_000);
    expect(a!.arrived).toHaveLength(8);
  });
});
