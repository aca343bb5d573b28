import { appendFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LoggerService } from '@nestjs/common';
import { Redis } from 'ioredis';
import type { DqOptions, LimitOptions } from 'nest-dq';
import {
  eventually,
  nodeCopies,
  startBeanstalkd,
  startRedis,
  type Address,
  type BeanstalkdOptions,
  type BeanstalkdServer,
  type RedisServer,
} from 'test-servers';
import { check, isLost, type Findings } from './checker.js';
import { ConsumerProcess } from './consumer-process.js';
import { History } from './history.js';
import { LogWriter, type Line } from './log.js';
import { ProducerProcess } from './producer-process.js';
import { ProducerSide } from './producer-side.js';
import { TaskProducerApp, type TaskProducer } from './task-producer.js';
import { until } from './waiting.js';

export interface LabSettings {
  readonly name: string;
  readonly jobs: number;
  /** Short leases, short outages: for `npm test`. */
  readonly small: boolean;
  /** Aborts when the user does. */
  readonly signal: AbortSignal;
}

/** When the jobs of an experiment are due, by the machine's clock in ms. */
export interface Timetable {
  readonly begin: number;
  readonly end: number;
  /** `part`: 0 at the begin, 1 at the end; also beyond. */
  at(part: number): number;
}

/** Milliseconds for each job, to add it and again in the window of due times: 1,000 jobs a second. */
const PER_JOB = 1;
const SHORTEST_WINDOW = 4_000;
const LEAD = 2_000;
/** Milliseconds. */
const REDIS_LIMIT = 30_000;
/** Slots of a consumer process. */
const CONCURRENCY = 50;

/** The servers, the producers and the consumer processes of one experiment, and the outside log of all of them. */
export class Lab {
  readonly jobs: number;
  readonly small: boolean;
  readonly signal: AbortSignal;
  /** Milliseconds; `options` has the same. */
  readonly lease: number;
  readonly backupDelay: number;
  /** In the order of their starts. The dead ones stay in the list, because their logs count. */
  readonly consumers: ConsumerProcess[] = [];
  readonly history = new History();
  /** Where the ledger is. An experiment that moves the ledger sets it. */
  redisUrl = '';
  /** Of the consumers that are started from now on. */
  limit: LimitOptions | undefined;
  private servers:
    { readonly beanstalkds: readonly BeanstalkdServer[]; readonly redis: RedisServer } | undefined;
  /** Calls that end what the lab has started. They are made in reverse order. */
  private readonly closing: (() => unknown)[] = [];
  private readonly asked: LogWriter;
  private startedConsumers = 0;
  private startedJobs = 0;

  private constructor(
    { jobs, small, signal }: LabSettings,
    /** Where all logs are. */
    readonly folder: string,
  ) {
    this.jobs = jobs;
    this.small = small;
    this.signal = signal;
    this.lease = small ? 3_000 : 15_000;
    this.backupDelay = small ? 1_000 : 2_000;
    this.asked = new LogWriter(join(folder, 'asked.log'));
  }

  /** Starts no server and no process. */
  static async open(settings: LabSettings): Promise<Lab> {
    return new Lab(settings, await mkdtemp(join(tmpdir(), `faults-${settings.name}-`)));
  }

  /** Chooses by the version that runs. */
  pick<T>(small: T, full: T): T {
    return this.small ? small : full;
  }

  /** Starts what most experiments need: three nodes, a Redis, and a producer and some consumers with these options. */
  async begin(consumers: number, options: DqOptions = {}): Promise<ProducerSide> {
    await this.startServers();
    return this.startApplications(consumers, options);
  }

  /** Starts a producer and some consumers, all with these options. */
  async startApplications(consumers: number, options: DqOptions = {}): Promise<ProducerSide> {
    const [producer] = await Promise.all([
      this.startProducer(options),
      ...Array.from({ length: consumers }, () => this.startConsumer(options)),
    ]);
    return producer;
  }

  /** Starts a Redis, and one node for each of the options. */
  async startServers(nodes: readonly BeanstalkdOptions[] = [{}, {}, {}]): Promise<void> {
    const [redis, ...beanstalkds] = await Promise.all([
      this.owned(startRedis()),
      ...nodes.map((options) => this.owned(startBeanstalkd(options))),
    ]);
    this.servers = { redis, beanstalkds };
    this.redisUrl = redis.url;
  }

  get beanstalkds(): readonly BeanstalkdServer[] {
    return this.running.beanstalkds;
  }

  get redis(): RedisServer {
    return this.running.redis;
  }

  /** The default options of the applications. */
  get options(): DqOptions {
    return {
      beanstalks: this.beanstalkds.map(({ endpoint }) => endpoint),
      redis: this.redisUrl,
      lease: this.lease,
      backupDelay: this.backupDelay,
      handlers: { concurrency: CONCURRENCY },
    };
  }

  /** `ahead`: milliseconds by which its clock is wrong. If it is not 0, the producer is a process of its own. */
  async startProducer(options: DqOptions = {}, ahead = 0): Promise<ProducerSide> {
    const note = (line: Line) => {
      this.asked.write(line);
      this.history.add(line);
    };
    const output = join(this.folder, 'producer.output');
    const given = { ...this.options, ...options };
    const producer: TaskProducer = await (ahead === 0
      ? TaskProducerApp.start(given, new FileLogger(output))
      : ProducerProcess.start({ options: given, ahead }, output));
    this.closing.push(() => producer.close());
    return new ProducerSide(producer, () => this.startedJobs++, note, this.signal);
  }

  /** Resolves when the consumer consumes. `ahead`: milliseconds by which its clock is wrong. */
  async startConsumer(options: DqOptions = {}, ahead = 0): Promise<ConsumerProcess> {
    this.signal.throwIfAborted();
    const name = `consumer-${++this.startedConsumers}`;
    const { folder, limit } = this;
    const given = { ...this.options, ...options };
    const consumer = await ConsumerProcess.start(folder, { name, options: given, ahead, limit });
    this.closing.push(() => consumer.stop());
    this.consumers.push(consumer);
    return consumer;
  }

  /** The lab will stop this server or proxy when it closes. */
  async owned<T extends { stop(): unknown }>(starting: Promise<T> | T): Promise<T> {
    const thing = await starting;
    this.closing.push(() => thing.stop());
    return thing;
  }

  /** A window that begins when all these jobs are surely added. It grows with their number, and lasts `least` ms or more. */
  timetable(jobs = this.jobs, least = SHORTEST_WINDOW): Timetable {
    const begin = Date.now() + LEAD + jobs * PER_JOB;
    const window = Math.max(least, jobs * PER_JOB);
    return { begin, end: begin + window, at: (part) => begin + part * window };
  }

  /** Only for the timetable of an experiment. Never wait for a result in this way. */
  until(instant: number): Promise<void> {
    return until(instant, this.signal);
  }

  /** Reads what is new in all logs before each check. Rejects after `limit` ms. */
  eventually(what: string, condition: () => boolean | Promise<boolean>, limit = this.pick(60_000, 180_000)) {
    const look = () => {
      this.readOn();
      return condition();
    };
    return eventually(what, look, limit, this.signal);
  }

  /** Adds jobs with this due time until one of them has a copy on each node. */
  storedEverywhere(what: string, producer: ProducerSide, due: () => number): Promise<void> {
    return this.eventually(what, async () => {
      const { copies } = await producer.add({ due: due() });
      return copies === this.beanstalkds.length;
    });
  }

  /**
   * Waits until every job that has to run has run, and no reachable node has a copy. Then nothing else can happen.
   * If the limit ends first, the findings show lost jobs or copies that are left.
   */
  async settle(limit?: number): Promise<Findings> {
    try {
      await this.eventually('all jobs ran', () => this.open() === 0, limit);
      await this.eventually('no copy is left', async () => (await this.copiesLeft()) === 0, limit);
    } catch (error) {
      this.signal.throwIfAborted();
      appendFileSync(join(this.folder, 'lab.output'), `${String(error)}\n`);
    }
    return this.findings();
  }

  findings(): Findings {
    this.readOn();
    return check(this.history);
  }

  /** The number of jobs that still have to run. */
  open(): number {
    let open = 0;
    for (const job of this.history.all()) if (isLost(job)) open++;
    return open;
  }

  /** The number of copies on the nodes that answer. */
  async copiesLeft(): Promise<number> {
    const counts = await Promise.all(this.beanstalkds.map(copiesOn));
    return counts.reduce<number>((sum, count) => sum + (count ?? 0), 0);
  }

  /** Uses a Redis connection of its own, as a person with redis-cli does. */
  async withRedis<T>(ask: (redis: Redis) => Promise<T>, url = this.redisUrl): Promise<T> {
    const redis = new Redis(url, { commandTimeout: REDIS_LIMIT });
    try {
      return await ask(redis);
    } finally {
      redis.disconnect();
    }
  }

  /** The number of keys in Redis. */
  ledgerRecords(): Promise<number> {
    return this.withRedis(async (redis) => {
      let keys = 0;
      for await (const page of redis.scanStream({ count: 1_000 })) keys += (page as string[]).length;
      return keys;
    });
  }

  /** Ends all processes. With `keep`, the logs stay in `folder`. */
  async close(keep: boolean): Promise<void> {
    for (const close of this.closing.splice(0).reverse()) await close();
    this.asked.close();
    if (!keep) await rm(this.folder, { recursive: true, force: true });
  }

  private get running() {
    if (!this.servers) throw new Error('the servers of this lab were not started');
    return this.servers;
  }

  private readOn(): void {
    for (const consumer of this.consumers) for (const line of consumer.read()) this.history.add(line);
  }
}

/** The number of copies on a node that can still surface. Undefined while the node does not answer. */
export async function copiesOn(node: Address): Promise<number | undefined> {
  const copies = await nodeCopies(node).catch(() => undefined); // a node that is down is expected here
  return copies?.live;
}

/** Writes the warnings and errors of the producer's application to a file beside the other logs. */
class FileLogger implements LoggerService {
  constructor(private readonly path: string) {}

  log(): void {}

  warn(message: unknown): void {
    this.write('warn', message);
  }

  error(message: unknown): void {
    this.write('error', message);
  }

  private write(level: string, message: unknown): void {
    appendFileSync(this.path, `${new Date().toISOString()} ${level} ${String(message)}\n`);
  }
}
