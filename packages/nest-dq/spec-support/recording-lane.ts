import { BeanstalkError } from '../src/beanstalk/codec/beanstalk-error.js';
import type { Connection, Reserved, Stats } from '../src/beanstalk/connection.js';
import type { ClusterNode } from '../src/cluster/cluster-node.js';
import { Delivery, type Taker } from '../src/consumer/reserve/delivery.js';
import { Lane, type LaneEvents } from '../src/consumer/reserve/lane.js';
import { LogWrites } from '../src/consumer/reserve/log-writes.js';
import { JobEnvelope } from '../src/copies/formats/dq1.js';
import { unwrap } from './unwrap.js';
import type { CopyHeader } from '../src/copies/header.js';
import type { Content } from '../src/copies/payload.js';
import { copyBody } from './copy-body.js';

/** A connection that notes the commands, and answers them when a spec says so. */
export class RecordingConnection {
  /** One text for each command: `release 7 pri 3`, where `pri` stands for any priority. */
  readonly said: string[] = [];
  closed = false;
  /** Whether it answers releases and burials by itself, as a healthy server does. */
  prompt = false;
  private readonly waiting: ((reply: unknown) => void)[] = [];

  watch = (tube: string, done: Done): void => this.say(`watch ${tube}`, done);
  ignore = (tube: string, done: Done): void => this.say(`ignore ${tube}`, done);
  reserveWithTimeout = (seconds: number, done: Done): void => this.say(`reserve ${seconds}`, done);
  reserveJob = (id: string, done: Done): void => this.say(`reserve-job ${id}`, done);
  statsJob = (id: string, done: Done): void => this.say(`stats-job ${id}`, done);
  release = (id: string, _priority: number, delay: number, done: Done): void =>
    this.end(`release ${id} pri ${delay}`, 'RELEASED', done);
  bury = (id: string, _priority: number, done: Done): void => this.end(`bury ${id}`, 'BURIED', done);
  delete = (id: string, done: Done): void => this.say(`delete ${id}`, done);
  touch = (id: string, done: Done): void => this.say(`touch ${id}`, done);
  close = (): void => void (this.closed = true);
  quit = (): void => void this.said.push('quit');

  get unanswered(): number {
    return this.waiting.length;
  }

  /** Answers the oldest command without an answer. */
  answer(reply: Reserved | Stats | string | number | BeanstalkError): void {
    this.waiting.shift()!(reply);
  }

  private end(command: string, reply: string, done: Done): void {
    this.say(command, done);
    if (this.prompt) this.waiting.pop()!(reply);
  }

  private say(command: string, done: Done): void {
    this.said.push(command);
    this.waiting.push((reply) =>
      reply instanceof BeanstalkError ? done(reply, undefined as never) : done(undefined, reply as never),
    );
  }
}

type Done = (error: BeanstalkError | undefined, value: never) => void;

/** An open lane on a recording connection. The commands that opened it are not in `said`. */
export function recordingLane(events: Partial<LaneEvents> & { readonly full?: boolean } = {}): {
  lane: Lane;
  connection: RecordingConnection;
  said: string[];
} {
  const connection = new RecordingConnection();
  const all: LaneEvents & { full: boolean } = {
    opened: () => undefined,
    refused: () => undefined,
    freed: () => undefined,
    releaseBuried: () => undefined,
    full: false,
    postponed: () => undefined,
    writeRefused: () => undefined,
  };
  Object.defineProperties(all, Object.getOwnPropertyDescriptors(events));
  const lane = new Lane(connection as unknown as Connection, 'instance', new LogWrites(all), all);
  lane.watch(new Set(['tube']));
  connection.answer(2);
  connection.answer(1);
  connection.said.length = 0;
  return { lane, connection, said: connection.said };
}

let made = 0;

/** A delivery that its lane holds. By default it is a primary, due at 1,000 and without a payload. */
export function heldDelivery(
  lane: Lane,
  header: Partial<CopyHeader> & { copyId?: string; taker?: Partial<Taker> } = {},
  content: Content = { type: 'void', bytes: Buffer.alloc(0) },
): Delivery {
  const {
    copyId = String(++made),
    index = 0,
    siblings = [],
    taker = { read: unwrap, lost: () => undefined },
    ...rest
  } = header;
  const job = { id: `job-${copyId}`, due: 1_000, generation: 0, copies: 3, priority: 1, ...rest };
  const body = copyBody(new JobEnvelope(job, content), index, siblings);
  const node = { endpoint: 'node' } as ClusterNode;
  const envelope = unwrap(body);
  if (typeof envelope === 'string') throw new Error(`the spec's header is not valid: ${envelope}`);
  const delivery = new Delivery(node, lane, copyId, body, envelope, taker as Taker);
  lane.hold(delivery);
  return delivery;
}
