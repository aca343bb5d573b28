import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Duplex } from 'node:stream';
import { Connection, type PutReply, type Stats } from '../../beanstalk/connection.js';
import { ClusterNode } from '../../cluster/cluster-node.js';
import { InProcessNode } from '../../embedded/in-process-node.js';
import { JobEnvelope } from '../../copies/formats/dq1.js';
import { copyBody } from '../../../spec-support/copy-body.js';
import { ScriptedNode, type Arrived } from '../../../spec-support/scripted-node.js';
import { stored } from '../../../spec-support/stored.js';
import { VirtualClock } from '../../test-kit/virtual-clock.js';
import { ConsumerNode } from './consumer-node.js';
import { LogWrites } from './log-writes.js';
import type { ConsumerReport } from '../report.js';
import type { SharedLanes, SharedLanesOfNodes } from './shared-lanes.js';
import type { Delivery, Taker } from './delivery.js';

const TUBE = stored('tube');

/** One of the node's connections, as its wire shows it. */
class Wire {
  readonly lines: string[] = [];
  readonly held = new Set<string>();

  constructor(
    readonly stream: Duplex,
    broken: string[],
  ) {
    const write = stream.write.bind(stream) as (chunk: unknown, encoding: BufferEncoding) => boolean;
    stream.write = ((chunk: Buffer | string, encoding: BufferEncoding) => {
      for (const line of chunk.toString('latin1').split('\r\n').slice(0, -1)) {
        const [verb, id] = line.split(' ') as [string, string];
        if (['release', 'delete', 'bury'].includes(verb)) this.held.delete(id);
        if (line === 'reserve-with-timeout 5' && this.held.size > 0)
          broken.push(`waits with ${this.held.size}`);
        this.lines.push(line);
      }
      return write(chunk, encoding);
    }) as Duplex['write'];
    stream.on('data', (chunk: Buffer) => {
      for (const [, id] of chunk.toString('latin1').matchAll(/^RESERVED (\d+) /gm)) this.held.add(id!);
    });
  }

  get isLane(): boolean {
    return this.lines[0] === `watch ${TUBE}`;
  }

  count(line: string): number {
    return this.lines.filter((each) => each === line).length;
  }
}

describe('ConsumerNode, while its tube is busy', () => {
  let clock: VirtualClock;
  let server: InProcessNode;
  let node: ClusterNode;
  let consumer: ConsumerNode;
  let wires: Wire[];
  /** Lanes that waited while they held something. */
  let broken: string[];
  let limit: number;
  /** What comes is in no hurry. */
  let early: boolean;
  let arrived: Delivery[];
  let lost: Delivery[];
  let poisons: string[];
  let troubles: string[];
  let others: Connection[];
  /** This process has no open file left. */
  let full: boolean;
  let made: number;
  let roomsLeft: number;
  let taker: Taker;

  beforeEach(() => {
    clock = new VirtualClock();
    server = new InProcessNode(clock);
    wires = [];
    broken = [];
    limit = 100;
    arrived = [];
    lost = [];
    poisons = [];
    troubles = [];
    others = [];
    made = 0;
    roomsLeft = 0;
    early = false;
    full = false;
    const dial = () => {
      const wire = new Wire(server.dial(), broken);
      wires.push(wire);
      if (full) wire.stream.destroy(new Error('connect EMFILE'));
      return wire.stream;
    };
    node = new ClusterNode('node', dial, clock);
    taker = {
      room: () => limit - held().length - consumer.asked,
      arrived: (delivery) => {
        arrived.push(delivery);
        return early;
      },
      roomLeft: () => void roomsLeft++,
      lost: (deliveries) => lost.push(...deliveries),
    };
    consumer = consumerOf(node);
  });

  afterEach(async () => {
    node.close();
    server.close();
    await settle();
    expect(broken).toEqual([]);
  });

  const nothingShared = {
    get logWrites() {
      return new LogWrites(node);
    },
    attach: () => undefined,
    join: () => consumer.becomeBusy(),
    leave: () => undefined,
    detach: () => undefined,
    close: () => Promise.resolve(),
    touchAll: () => undefined,
  } as unknown as SharedLanes;
  const consumerOf = (on: ClusterNode) => {
    const report = {
      poison: (_tube: string, _node: string, copyId: string, reason: string) =>
        poisons.push(`${copyId}: ${reason}`),
      nodeTrouble: (_node: string, message: string) => troubles.push(message),
    } as unknown as ConsumerReport;
    const sharedLanes = { of: () => nothingShared } as unknown as SharedLanesOfNodes;
    return new ConsumerNode({ tube: TUBE, storedAs: stored(TUBE), clock, report, sharedLanes }, on, taker);
  };
  const held = () => arrived.filter((delivery) => delivery.held);
  const lanes = () => wires.filter(({ isLane }) => isLane);
  const waits = () => lanes().reduce((sum, wire) => sum + wire.count('reserve-with-timeout 5'), 0);

  /** Lets all happen that takes no time. */
  async function settle(): Promise<void> {
    for (let i = 0; i < 4; i++) await clock.advance(0);
  }

  async function start(): Promise<void> {
    consumer.start();
    await settle();
  }

  function other(): Connection {
    if (others[0]?.closed !== false) others = [new Connection(server.dial(), { clock, deadline: 1e9 })];
    return others[0]!;
  }

  function send(body: Buffer, ttr: number): Promise<PutReply> {
    return other().ask((done) => other().put(TUBE, [body], { priority: 1, delay: 0, ttr }, done));
  }

  function newJob(): Buffer {
    const job = { id: `job-${made++}`, due: 0, generation: 0, copies: 1, priority: 1 };
    return copyBody(new JobEnvelope(job, { type: 'void', bytes: Buffer.alloc(0) }), 0);
  }

  /** Puts a body and lets all happen that takes no time; its copy id. */
  async function putBody(body: Buffer, ttr = 60): Promise<string> {
    const sent = send(body, ttr);
    await settle();
    return (await sent).id;
  }

  function put(ttr?: number): Promise<string> {
    return putBody(newJob(), ttr);
  }

  async function putMany(count: number): Promise<void> {
    const sent = Array.from({ length: count }, () => send(newJob(), 60));
    await settle();
    await Promise.all(sent);
  }

  async function stats(): Promise<Stats> {
    const asked = other().ask<Stats>((done) => other().stats(done));
    await settle();
    return asked;
  }

  /** Reserves that wait on the server now. */
  const waiting = async () => Number((await stats())['current-waiting']);

  it('has exactly one lane on an empty node, and it waits', async () => {
    await start();
    expect(lanes().length).toBe(1);
    expect(await waiting()).toBe(1);
    consumer.start();
    consumer.advance();
    consumer.advance();
    await settle();
    expect(lanes().length).toBe(1);
    expect(waits()).toBe(1);
  });

  it('reserves nothing on a connection that may not watch its tube, says so, and tries another', async () => {
    const scripted = new ScriptedNode(clock);
    const { answers } = scripted;
    Object.assign(answers, {
      watch: () => 'OUT_OF_MEMORY',
      ignore: () => 'NOT_IGNORED',
      'reserve-with-timeout': () => 'RESERVED 1 3\r\njob',
    });
    node = new ClusterNode('node', scripted.dial, clock);
    consumer = consumerOf(node);
    node.listen({ trouble: (_node, message) => troubles.push(message) });
    await start();
    await clock.advance(2_000);
    expect(new Set(scripted.words)).toEqual(new Set(['watch', 'ignore']));
    expect(scripted.words.length).toBeGreaterThanOrEqual(6);
    expect(troubles).toEqual([expect.stringMatching(/the tube tube \(OUT_OF_MEMORY: .*more memory$/)]);
    Object.assign(answers, {
      watch: () => 'WATCHING 2',
      ignore: () => 'WATCHING 1',
      'reserve-with-timeout': () => undefined,
    });
    scripted.arrived.length = 0;
    await clock.advance(5_000);
    expect(scripted.words.slice(0, 3)).toEqual(['watch', 'ignore', 'reserve-with-timeout']);
  });

  it('misses no lane that is refused once it has stopped', async () => {
    const scripted = new ScriptedNode(clock);
    Object.assign(scripted.answers, { watch: () => 'OUT_OF_MEMORY', ignore: () => 'NOT_IGNORED' });
    node = new ClusterNode('node', scripted.dial, clock);
    node.start();
    await settle();
    consumer = consumerOf(node);
    consumer.start();
    consumer.stop();
    await settle();
    expect(scripted.words).toContain('watch');
    expect(Reflect.get(node.lanes, 'failures')).toEqual(new Map());
  });

  it('waits again when a wait brings nothing', async () => {
    await start();
    await clock.advance(4_999);
    expect(waits()).toBe(1);
    await clock.advance(2);
    await settle();
    expect(waits()).toBe(2);
    expect(lanes().length).toBe(1);
    expect(await waiting()).toBe(1);
  });

  describe('after an early copy', () => {
    beforeEach(async () => {
      await start();
      early = true;
      await put();
    });

    it('rests, and then takes all that came with one question', async () => {
      const refills = () => lanes().reduce((sum, wire) => sum + wire.count('reserve-with-timeout 0'), 0);
      const before = refills();
      for (let i = 0; i < 3; i++) await put();
      consumer.advance();
      expect([held().length, refills()]).toEqual([1, before]);
      await clock.advance(5);
      await settle();
      expect([held().length, refills()]).toEqual([4, before + 4]);
      expect(await waiting()).toBe(1);
    });

    it('does not rest for what such a question brings', async () => {
      for (let i = 0; i < 5; i++) await put();
      await clock.advance(5);
      await settle();
      expect(held().length).toBe(6);
    });

    it('rests where the copy was moved to another lane, too', async () => {
      await clock.advance(5);
      await put();
      await clock.advance(5);
      await put();
      expect(
        lanes().flatMap(({ lines }) => lines.filter((line) => line.startsWith('reserve-job'))),
      ).toHaveLength(1);
      await put();
      expect(held().length).toBe(3);
      await clock.advance(5);
      await settle();
      expect(held().length).toBe(4);
    });

    it('asks again at once when it was stopped in between', async () => {
      consumer.stop();
      await put();
      await start();
      expect(held().length).toBe(2);
    });
  });

  it('asks for nothing without room, and takes what is there as soon as room opens', async () => {
    limit = 0;
    await start();
    await putMany(3);
    await clock.advance(20_000);
    expect(lanes().length).toBe(0);
    limit = 2;
    consumer.advance();
    await settle();
    expect(held().length).toBe(2);
    expect(await waiting()).toBe(0);
    limit = 3;
    consumer.advance();
    await settle();
    expect(held().length).toBe(3);
  });

  it('never asks for more than there is room for', async () => {
    await putMany(50);
    limit = 7;
    await start();
    expect(held().length).toBe(7);
    expect(
      lanes().reduce((sum, { lines }) => sum + lines.filter((l) => l.startsWith('reserve')).length, 0),
    ).toBe(7);
  });

  it('tells when its questions are answered, so that others may use what room is left', async () => {
    await start();
    expect(roomsLeft).toBe(1);
    await putMany(3);
    expect(roomsLeft).toBeGreaterThan(1);
  });

  it('takes a backlog in batches that double while they are full', async () => {
    await putMany(60);
    const batches: number[] = [];
    let before = 0;
    consumer.start();
    for (let i = 0; i < 40; i++) {
      await new Promise<void>((resolve) => setImmediate(resolve));
      const [lane] = lanes();
      const asked = lane?.count('reserve-with-timeout 0') ?? 0;
      if (asked > before) batches.push(asked - before);
      before = asked;
    }
    expect(batches).toEqual([4, 8, 16, 32, 40]);
    expect(held().length).toBe(60);
    await settle();
    expect(await waiting()).toBe(1);
  });

  it('keeps what the waiting lane got while another lane can wait', async () => {
    await start();
    const id = await put();
    expect(lanes().length).toBe(2);
    expect([...lanes()[0]!.held]).toEqual([id]);
    expect(lanes()[1]!.count('reserve-with-timeout 5')).toBe(1);
    expect(await waiting()).toBe(1);
  });

  it('picks up each new job at once, with at most three lanes, while 46 of 50 slots are held', async () => {
    limit = 50;
    await putMany(46);
    await start();
    expect(held().length).toBe(46);
    const now = clock.now();
    for (let count = 47; count <= 50; count++) {
      await put();
      expect(held().length).toBe(count);
    }
    for (let i = 0; i < 60; i++) {
      // A slot opens, and the next job takes it.
      const delivery = held().at(-1)!;
      delivery.lane.delete(delivery, () => undefined);
      consumer.advance();
      await settle();
      await put();
      expect(held().length).toBe(50);
    }
    expect(clock.now()).toBe(now);
    expect(lanes().length).toBe(3);
  });

  it('moves what the last lane that can wait got: a second’s delay, reserved by its id on another lane', async () => {
    await start();
    const first = await put();
    const second = await put();
    const [a, b, c] = lanes() as [Wire, Wire, Wire];
    expect([[...a.held], [...b.held], [...c.held]]).toEqual([[first], [second], []]);
    const third = await put();
    expect(c.lines.filter((line) => line.startsWith('release'))).toEqual([
      expect.stringMatching(/^release 3 \d+ 1$/),
    ]);
    expect(a.lines).toContain(`reserve-job ${third}`);
    expect([...a.held].length + [...b.held].length).toBe(3);
    expect([...c.held]).toEqual([]);
    expect(await waiting()).toBe(1);
    const fourth = await put();
    expect(b.lines).toContain(`reserve-job ${fourth}`);
    expect(held().map(({ copyId }) => copyId)).toEqual([first, second, third, fourth]);
  });

  it('leaves the lane that can wait free also when more came at once', async () => {
    await start();
    await put();
    await put();
    await putMany(5);
    expect(held().length).toBe(7);
    expect(lanes().map((wire) => wire.held.size)[2]).toBe(0);
    expect(await waiting()).toBe(1);
  });

  it('releases a copy that it moves with its place in the order', async () => {
    await start();
    await put();
    await put();
    const job = { id: 'late', due: Date.UTC(2029, 11, 31), generation: 0, copies: 1, priority: 2 };
    const id = await putBody(copyBody(new JobEnvelope(job, { type: 'void', bytes: Buffer.alloc(0) }), 0));
    const [, , c] = lanes() as [Wire, Wire, Wire];
    const priority = 2 * 2 ** 30 + (Date.UTC(2029, 11, 31) - Date.UTC(2020, 0, 1)) / 1000;
    expect(c.lines).toContain(`release ${id} ${priority} 1`);
  });

  it('waits on a lane that holds nothing any more', async () => {
    limit = 2;
    await start();
    await put();
    await put();
    expect(await waiting()).toBe(0);
    const before = lanes().length;
    for (const delivery of held()) delivery.lane.delete(delivery, () => undefined);
    await settle();
    expect(await waiting()).toBe(1);
    expect(lanes().length).toBe(before);
  });

  it('polls where all three lanes hold something, because two are full', async () => {
    limit = 10_000;
    await putMany(2 * 1_024 + 5);
    await start();
    while (held().length < 2_053) await settle();
    expect(lanes().map((wire) => wire.held.size)).toEqual([1_024, 1_024, 5]);
    expect(await waiting()).toBe(0);
    await clock.advance(1_000);
    await put();
    await clock.advance(50);
    await settle();
    expect(held().length).toBe(2_054);
    expect(lanes().length).toBe(3);
  }, 30_000);

  it('touches what it holds when the server says that its time is nearly over', async () => {
    await start();
    const id = await put(3);
    await clock.advance(2_100);
    await put(); // so that the lane that holds the first asks for more
    expect(lanes()[0]!.lines).toContain(`touch ${id}`);
    await clock.advance(1_500);
    expect(lost.length).toBe(0);
    const job = other().ask<Stats | 'NOT_FOUND'>((done) => other().statsJob(id, done));
    await settle();
    expect(await job).toMatchObject({ state: 'reserved' });
  });

  it('buries a body that is no envelope, tells of it, and goes on', async () => {
    await putBody(Buffer.from('nonsense'));
    await start();
    await putBody(Buffer.from('dq1 {"id":"x"}\n'));
    expect(poisons).toEqual([
      expect.stringMatching(/^1: it does not begin/),
      expect.stringMatching(/^2: its header/),
    ]);
    await clock.advance(60_000);
    expect(poisons).toHaveLength(2);
    expect(await stats()).toMatchObject({ 'current-jobs-buried': '2', 'current-jobs-reserved': '0' });
    await put();
    expect(held().length).toBe(1);
  });

  it('buries poison that the last waiting lane gets, too', async () => {
    await start();
    await put();
    await put();
    await putBody(Buffer.from('nonsense'));
    expect(poisons).toHaveLength(1);
    expect(held().length).toBe(2);
    expect(await waiting()).toBe(1);
  });

  it('makes a copy ready again that a release left buried', async () => {
    await start();
    const id = await putBody(Buffer.from('nonsense'));
    consumer['own'].releaseBuried(id);
    expect(troubles).toEqual([expect.stringContaining('BURIED')]);
    expect(await stats()).toMatchObject({ 'current-jobs-buried': '1' });
    poisons.length = 0;
    await clock.advance(5_000);
    await settle();
    expect(poisons).toHaveLength(1);
  });

  describe('on a node without room for its log', () => {
    let released: string[];
    let instance: ScriptedNode;

    beforeEach(async () => {
      let made = 0;
      released = [];
      instance = new ScriptedNode(clock);
      Object.assign(instance.counters, {
        'binlog-current-index': 1,
        'total-jobs': 9,
      });
      Object.assign(instance.answers, {
        watch: () => 'WATCHING 2',
        ignore: () => 'WATCHING 1',
        'reserve-with-timeout': () => {
          if (made === 3) return 'TIMED_OUT';
          const body = newJob();
          return `RESERVED ${++made} ${body.length}\r\n${body.toString('latin1')}`;
        },
        release: ({ line }: Arrived) => {
          released.push(line.replace(/ \d+ (?=\d+$)/, ' '));
          return line.endsWith(' 0') ? 'RELEASED' : 'OUT_OF_MEMORY';
        },
      });
      node = new ClusterNode('node', instance.dial, clock);
      limit = 3;
      consumer = consumerOf(node);
      await start();
      await clock.advance(100);
      expect(held()).toHaveLength(3);
    });

    it('tells of the copy that nobody can reach, and releases the others without a delay when they are due', async () => {
      for (const delivery of held()) delivery.release(12);
      await clock.advance(0);
      expect(released).toEqual(['release 1 12']);
      expect(troubles).toEqual([expect.stringContaining('refused to take a copy back (OUT_OF_MEMORY)')]);
      expect(node.full).toBe(true);
      await clock.advance(11_900);
      expect([released.length, held().length]).toEqual([1, 2]);
      await clock.advance(200);
      expect(released.slice(1)).toEqual(['release 2 0', 'release 3 0']);
      expect(held()).toEqual([]);
    });

    it('releases them as soon as it has room again, and dead ones only then', async () => {
      for (const delivery of held()) delivery.release(3_600);
      await clock.advance(60_000);
      held()[1]!.bury();
      await clock.advance(0);
      expect(released).toHaveLength(1);
      instance.counters['total-jobs'] = 10;
      await clock.advance(10_000);
      expect(released.slice(1).toSorted()).toEqual(['release 2 0', 'release 3 0']);
    });
  });

  describe('when connections are lost', () => {
    it('forgets the deliveries of a lost lane, keeps those of the others, and opens it again', async () => {
      await start();
      const kept = await put();
      const id = await put();
      const [a, b] = lanes() as [Wire, Wire];
      b.stream.destroy();
      await settle();
      expect(lost.map(({ copyId }) => copyId)).toEqual([id]);
      expect(lost[0]!.held).toBe(false);
      expect(a.held).toContain(kept);
      await clock.advance(250);
      await settle();
      expect(held().length).toBe(2);
      expect(held()[1]!.copyId).toBe(id);
      expect(await waiting()).toBe(1);
    });

    it('waits again when the waiting lane is lost, and not on the dead one', async () => {
      await start();
      const [first] = lanes() as [Wire];
      first.stream.destroy();
      await clock.advance(250);
      await settle();
      expect(lanes().length).toBe(2);
      expect(first.count('reserve-with-timeout 5')).toBe(1);
      expect(await waiting()).toBe(1);
    });

    it('reserves nothing from a server that came back before its control connection is up', async () => {
      await start();
      const id = await put();
      const old = wires.length;
      const [control] = wires as [Wire];
      const gone = server;
      server = new InProcessNode(clock);
      for (const wire of lanes()) wire.stream.destroy();
      await settle();
      consumer.advance();
      await settle();
      expect(lost.map(({ copyId }) => copyId)).toEqual([id]);
      expect(wires.length).toBe(old);
      gone.close();
      await settle();
      expect(control.stream.destroyed).toBe(true);
      await clock.advance(100);
      await settle();
      expect(wires[old]!.lines[0]).toBe('stats');
      expect(wires.slice(old).filter(({ isLane }) => isLane).length).toBe(1);
      expect(await waiting()).toBe(1);
    });

    it('does not go on with a wait from before the node was away, which may hang on a dead connection', async () => {
      await start();
      const [control, first] = wires as [Wire, Wire];
      control.stream.destroy();
      await clock.advance(100);
      await settle();
      expect(first.stream.destroyed).toBe(true);
      expect(lanes().length).toBe(2);
      expect(await waiting()).toBe(1);
    });

    it('tells of lanes that cannot be opened, tries ever more seldom, and is well once one stands', async () => {
      node.start();
      await settle();
      full = true;
      const before = wires.length;
      await start();
      expect(node.reason).toBe('up');
      await clock.advance(60_000);
      expect(node.reason).toMatch(
        /^no connection for reserving can be opened for the tube tube \(.*EMFILE\)$/,
      );
      expect(wires.length - before).toBeGreaterThan(5);
      expect(wires.length - before).toBeLessThan(20);
      full = false;
      await clock.advance(5_000);
      await settle();
      expect(node.reason).toBe('up');
      expect(await waiting()).toBe(1);
      lanes().at(-1)!.stream.destroy();
      await clock.advance(250);
      await settle();
      expect(await waiting()).toBe(1);
    });

    it('wants no lane, and so misses none, once it has stopped', async () => {
      node.start();
      await settle();
      full = true;
      await start();
      await clock.advance(1_000);
      expect(node.reason).not.toBe('up');
      consumer.stop();
      expect(node.reason).toBe('up');
    });

    it('begins when a node that was away comes up', async () => {
      server.close();
      await start();
      await clock.advance(10_000);
      expect(lanes().length).toBe(0);
      server = new InProcessNode(clock);
      await clock.advance(3_000);
      await settle();
      expect(await waiting()).toBe(1);
    });
  });

  it('asks for nothing while it pauses; what its open wait brings arrives all the same', async () => {
    await start();
    consumer.pause();
    await put();
    expect(arrived.length).toBe(1);
    await put();
    await clock.advance(30_000);
    expect(arrived.length).toBe(1);
    expect(await waiting()).toBe(0);
    consumer.start();
    await settle();
    expect(arrived.length).toBe(2);
    expect(await waiting()).toBe(1);
  });

  it('stops waiting at once, holds what it has, and releases it when it closes', async () => {
    await start();
    await put();
    consumer.stop();
    consumer.stop();
    await settle();
    expect(await waiting()).toBe(0);
    expect(held().length).toBe(1);
    await clock.advance(30_000);
    expect(lanes().length).toBe(2);
    await Promise.all([consumer.close(), settle()]);
    expect(held().length).toBe(0);
    expect(await stats()).toMatchObject({ 'current-jobs-ready': '1', 'current-jobs-reserved': '0' });
  });

  it('closes before it was started', async () => {
    await consumer.close();
    consumer.advance();
    await settle();
    expect(wires.length).toBe(0);
  });
});
