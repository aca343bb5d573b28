import { afterEach, beforeEach, expect } from '@jest/globals';
import type { Duplex } from 'node:stream';
import { Connection, type PutReply, type Stats } from '../src/beanstalk/connection.js';
import type { Cluster } from '../src/cluster/cluster.js';
import { ClusterNode } from '../src/cluster/cluster-node.js';
import { ConsumerNode } from '../src/consumer/reserve/consumer-node.js';
import type { Delivery, Taker } from '../src/consumer/reserve/delivery.js';
import { LaneLimit } from '../src/consumer/reserve/lanes.js';
import { LogWrites } from '../src/consumer/reserve/log-writes.js';
import type { SharedLanes } from '../src/consumer/reserve/shared-lanes.js';
import type { ConsumerReport } from '../src/consumer/report.js';
import type { TubeLife } from '../src/consumer/tube-context.js';
import { JobEnvelope } from '../src/copies/formats/dq1.js';
import { InProcessNode } from '../src/embedded/in-process-node.js';
import { CollectingHub } from './collecting-hub.js';
import { unwrap } from './unwrap.js';
import { VirtualClock } from 'nest-handlers/testing';
import { copyBody } from './copy-body.js';
import { stored } from './stored.js';

const TUBE = stored('tube');

/** One connection to the node, with the commands that were sent on it. */
export class Wire {
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

/** A node and a tube that is busy there, so that it uses only lanes of its own. */
export class BusyTube {
  readonly clock = new VirtualClock();
  server = new InProcessNode(this.clock);
  node: ClusterNode;
  consumer: ConsumerNode;
  readonly wires: Wire[] = [];
  /** Lanes that waited while they held a delivery. */
  readonly broken: string[] = [];
  limit = 100;
  /** Whether the copies that come are early. */
  early = false;
  readonly arrived: Delivery[] = [];
  readonly lost: Delivery[] = [];
  readonly poisons: string[] = [];
  readonly troubles: string[] = [];
  /** Whether this process can open no more files. */
  full = false;
  roomsLeft = 0;
  private others: Connection[] = [];
  private made = 0;
  private readonly taker: Taker = {
    read: unwrap,
    room: () => this.limit - this.held().length - this.consumer.asked,
    holdsEnoughEarly: false,
    roomLeft: () => void this.roomsLeft++,
    lost: (delivery) => this.lost.push(delivery),
  };
  private readonly life: TubeLife = {
    arrived: (delivery) => {
      this.arrived.push(delivery);
      return this.early;
    },
    changed: () => undefined,
    copyGone: () => undefined,
  };

  constructor() {
    const dial = () => {
      const wire = new Wire(this.server.dial(), this.broken);
      this.wires.push(wire);
      if (this.full) wire.stream.destroy(new Error('connect EMFILE'));
      return wire.stream;
    };
    this.node = new ClusterNode('node', dial, this.clock);
    this.consumer = this.consumerOf(this.node);
  }

  async close(): Promise<void> {
    this.node.close();
    this.server.close();
    await this.settle();
  }

  consumerOf(on: ClusterNode): ConsumerNode {
    const { clock, poisons, troubles, life } = this;
    const report = {
      poison: (_tube: string, _node: string, copyId: string, reason: string) =>
        poisons.push(`${copyId}: ${reason}`),
      nodeTrouble: (_node: string, message: string) => troubles.push(message),
    } as unknown as ConsumerReport;
    const nothingShared = {
      logWrites: new LogWrites(on),
      ownLanes: new LaneLimit(),
      attach: () => undefined,
      join: () => this.consumer.becomeBusy(),
      leave: () => undefined,
      detach: () => undefined,
      close: () => Promise.resolve(),
      touchAll: () => undefined,
    } as unknown as SharedLanes;
    const sharedLanes = new Map([[on, nothingShared]]);
    const events = new CollectingHub();
    const cluster = { settings: {} } as Cluster;
    const context = { tube: TUBE, storedAs: TUBE, cluster, clock, report, sharedLanes, events, life };
    return new ConsumerNode(context, on, this.taker);
  }

  held = () => this.arrived.filter((delivery) => delivery.held);
  lanes = () => this.wires.filter(({ isLane }) => isLane);
  waits = () => this.lanes().reduce((sum, wire) => sum + wire.count('reserve-with-timeout 5'), 0);

  /** Waits until everything has happened that takes no time. */
  async settle(): Promise<void> {
    for (let i = 0; i < 4; i++) await this.clock.advance(0);
  }

  async start(): Promise<void> {
    this.consumer.start();
    await this.settle();
  }

  other(): Connection {
    if (this.others[0]?.closed !== false)
      this.others = [new Connection(this.server.dial(), { clock: this.clock, deadline: 1e9 })];
    return this.others[0]!;
  }

  newJob(): Buffer {
    const job = { id: `job-${this.made++}`, due: 0, generation: 0, copies: 1, priority: 1 };
    return copyBody(new JobEnvelope(job, { type: 'void', bytes: Buffer.alloc(0) }), 0);
  }

  /** Puts a body, and waits until everything has happened that takes no time. Resolves with the copy id. */
  async putBody(body: Buffer, ttr = 60): Promise<string> {
    const sent = this.send(body, ttr);
    await this.settle();
    return (await sent).id;
  }

  put(ttr?: number): Promise<string> {
    return this.putBody(this.newJob(), ttr);
  }

  async putMany(count: number): Promise<void> {
    const sent = Array.from({ length: count }, () => this.send(this.newJob(), 60));
    await this.settle();
    await Promise.all(sent);
  }

  async stats(): Promise<Stats> {
    const asked = this.other().ask<Stats>((done) => this.other().stats(done));
    await this.settle();
    return asked;
  }

  /** The number of reserves that wait on the server now. */
  async waiting(): Promise<number> {
    return Number((await this.stats())['current-waiting']);
  }

  private send(body: Buffer, ttr: number): Promise<PutReply> {
    return this.other().ask((done) => this.other().put(TUBE, [body], { priority: 1, delay: 0, ttr }, done));
  }
}

/** The busy tube of the test that runs, if its spec has called `busyTubeInEachTest`. */
export let world: BusyTube;

/** Gives each test a busy tube of its own. Checks after each test that no lane waited while it held a delivery. */
export function busyTubeInEachTest(): void {
  beforeEach(() => {
    world = new BusyTube();
  });
  afterEach(async () => {
    await world.close();
    expect(world.broken).toEqual([]);
  });
}
