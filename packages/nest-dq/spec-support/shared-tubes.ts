import type { Duplex } from 'node:stream';
import { Connection, type Stats } from '../src/beanstalk/connection.js';
import type { Cluster } from '../src/cluster/cluster.js';
import { ClusterNode } from '../src/cluster/cluster-node.js';
import { ConsumerNode } from '../src/consumer/reserve/consumer-node.js';
import type { Delivery } from '../src/consumer/reserve/delivery.js';
import { sharedLanesTo } from '../src/consumer/reserve/shared-lanes.js';
import type { ConsumerReport } from '../src/consumer/report.js';
import { JobEnvelope } from '../src/copies/formats/dq1.js';
import { InProcessNode } from '../src/embedded/in-process-node.js';
import { CollectingHub } from './collecting-hub.js';
import { unwrap } from './unwrap.js';
import { VirtualClock } from 'nest-handlers/testing';
import { copyBody } from './copy-body.js';
import { stored } from './stored.js';

/** One tube of the process, and its copies that have arrived. */
export interface TubeOnNode {
  readonly consumer: ConsumerNode;
  readonly arrived: Delivery[];
  limit: number;
}

/** A node, and several tubes of one process that share lanes to it. */
export class SharedTubes {
  readonly clock = new VirtualClock();
  readonly streams: Duplex[] = [];
  /** The commands on each connection, except the first one, which is the control connection. */
  readonly lines: string[][] = [];
  /** How many more connections the process can open. */
  openable = Infinity;
  /** Milliseconds until the process has a reply. */
  latency = 0;
  private readonly server = new InProcessNode(this.clock);
  private readonly node = new ClusterNode('node', () => this.dial(), this.clock);
  private readonly report = { nodeTrouble: () => undefined } as unknown as ConsumerReport;
  private readonly sharedLanes = sharedLanesTo([this.node], this.clock, this.report);
  private readonly other = new Connection(this.server.dial(), { clock: this.clock, deadline: 1e12 });
  private readonly tubes = new Map<string, TubeOnNode>();
  private made = 0;

  async close(): Promise<void> {
    const closed = Promise.all(Array.from(this.tubes.values(), ({ consumer }) => consumer.close()));
    await this.clock.advance(1_000);
    await closed;
    this.node.close();
    this.server.close();
    await this.settle();
  }

  /** Waits until everything has happened that takes no time. */
  async settle(): Promise<void> {
    for (let i = 0; i < 6; i++) await this.clock.advance(0);
  }

  async start(...names: string[]): Promise<TubeOnNode[]> {
    const started = names.map((name) => this.prepare(name));
    for (const { consumer } of started) consumer.start();
    await this.settle();
    return started;
  }

  async put(tube: string): Promise<void> {
    const job = { id: `job-${this.made++}`, due: 0, generation: 0, copies: 1, priority: 1 };
    const body = copyBody(new JobEnvelope(job, { type: 'void', bytes: Buffer.alloc(0) }), 0);
    this.other.put(tube, [body], { priority: 1, delay: 0, ttr: 600 }, () => undefined);
    await this.settle();
  }

  async stats(): Promise<Stats> {
    const asked = this.other.ask<Stats>((done) => this.other.stats(done));
    await this.settle();
    return asked;
  }

  /** The number of connections to the node, without the control connection and those of the spec. */
  async lanes(): Promise<number> {
    return Number((await this.stats())['current-connections']) - 2;
  }

  async waiting(): Promise<number> {
    return Number((await this.stats())['current-waiting']);
  }

  private dial(): Duplex {
    const stream = this.server.dial();
    if (this.openable-- <= 0) return stream.destroy(new Error('connect EMFILE'));
    if (this.streams.push(stream) === 1) return stream;
    const said: string[] = [];
    this.lines.push(said);
    const push = stream.push.bind(stream) as (chunk: unknown) => boolean;
    stream.push = (chunk: unknown) => {
      if (this.latency === 0) return push(chunk);
      this.clock.after(this.latency, () => push(chunk));
      return true;
    };
    const write = stream.write.bind(stream) as (chunk: unknown, encoding: BufferEncoding) => boolean;
    stream.write = ((chunk: Buffer | string, encoding: BufferEncoding) => {
      said.push(...chunk.toString('latin1').split('\r\n').slice(0, -1));
      return write(chunk, encoding);
    }) as Duplex['write'];
    return stream;
  }

  private prepare(name: string): TubeOnNode {
    const { clock, report, sharedLanes } = this;
    const arrived: Delivery[] = [];
    const context = {
      tube: name,
      storedAs: stored(name),
      cluster: { settings: {} } as Cluster,
      clock,
      report,
      sharedLanes,
      events: new CollectingHub(),
      life: {
        arrived: (delivery: Delivery) => {
          arrived.push(delivery);
          return false;
        },
        changed: () => undefined,
        copyGone: () => undefined,
      },
    };
    const tube: TubeOnNode = {
      arrived,
      limit: 10,
      consumer: new ConsumerNode(context, this.node, {
        read: unwrap,
        room: () => tube.limit - arrived.filter(({ held }) => held).length,
        holdsEnoughEarly: false,
        roomLeft: () => undefined,
        lost: () => undefined,
      }),
    };
    this.tubes.set(name, tube);
    return tube;
  }
}

export const end = (delivery: Delivery): void => delivery.lane.delete(delivery, () => undefined);
