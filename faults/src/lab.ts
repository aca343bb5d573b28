import { appendFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LoggerService } from '@nestjs/common';
import { Redis } from 'ioredis';
import type { DqOptions } from 'nest-dq';
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

/** Milliseconds of window and of time to add for each job: 1,000 jobs a second. */
const PER_JOB = 1;
const SHORTEST_WINDOW = 4_000;
const LEAD = 2_000;
/** Milliseconds. */
const REDIS_LIMIT = 30_000;
/** Slots of a consumer process. */
const CONCURRENCY = 50;

/** Servers, a producer and consumer processes of one experiment, and the outside log of it all. */
export class Lab {
  readonly jobs: number;
  readonly small: boolean;
  readonly signal: AbortSignal;
  /** Milliseconds; `options` has the same. */
  readonly lease: number;
  readonly backupDelay: number;
  /** By name; also the dead ones, whose logs count. */
  readonly consumers: ConsumerProcess[] = [];
  readonly history = new History();
  /** Where the ledger is; an experiment that moves it says so. */
  redisUrl = '';
  private servers:
    { readonly beanstalkds: readonly BeanstalkdServer[]; readonly redis: RedisServer } | undefined;
  /** What else ends with the lab, last first. */
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

  /** Nothing runs in it yet. */
  static async open(settings: LabSettings): Promise<Lab> {
    return new Lab(settings, await mkdtemp(join(tmpdir(), `faults-${settings.name}-`)));
  }

  /** One or the other, by the version that runs. */
  pick<T>(small: T, full: T): T {
    return this.small ? small : full;
  }

  /** What most experiments begin with: three nodes, a Redis, a producer and some consumers, all with these options. */
  async begin(consumers: number, options: DqOptions = {}): Promise<ProducerSide> {
    await this.startServers();
    return this.startApplications(consumers, options);
  }

  /** A producer and some consumers, all with these options. */
  async startApplications(consumers: number, options: DqOptions = {}): Promise<ProducerSide> {
    const [producer] = await Promise.all([
      this.startProducer(options),
      ...Array.from({ length: consumers }, () => this.startConsumer(options)),
    ]);
    return producer;
  }

  /** One node for each of the options. */
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

  /** What an application of this lab is given, unless an experiment says otherwise. */
  get options(): DqOptions {
    return {
      beanstalks: this.beanstalkds.map(({ endpoint }) => endpoint),
      redis: this.redisUrl,
      lease: this.lease,
      backupDelay: this.backupDelay,
      handlers: { concurrency: CONCURRENCY },
    };
  }

  /** `ahead`: milliseconds by which its clock is wrong; it then is a process of its own. */
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

  /** Resolves when it consumes. `ahead`: milliseconds by which its clock is wrong. */
  async startConsumer(options: DqOptions = {}, ahead = 0): Promise<ConsumerProcess> {
    this.signal.throwIfAborted();
    const name = `consumer-${++this.startedConsumers}`;
    const given = { ...this.options, ...options };
    const consumer = await ConsumerProcess.start(name, this.folder, given, ahead);
    this.closing.push(() => consumer.stop());
    this.consumers.push(consumer);
    return consumer;
  }

  /** Makes the lab stop it: a server, a proxy. */
  async owned<T extends { stop(): unknown }>(starting: Promise<T> | T): Promise<T> {
    const thing = await starting;
    this.closing.push(() => thing.stop());
    return thing;
  }

  /** From when that many jobs can be added, for as long as their number asks, but at least for `least` ms. */
  timetable(jobs = this.jobs, least = SHORTEST_WINDOW): Timetable {
    const begin = Date.now() + LEAD + jobs * PER_JOB;
    const window = Math.max(least, jobs * PER_JOB);
    return { begin, end: begin + window, at: (part) => begin + part * window };
  }

  /** For the timetable of an experiment, never for its results. */
  until(instant: number): Promise<void> {
    return until(instant, this.signal);
  }

  /** Reads all logs on before each look; rejects after `limit` ms. */
  eventually(what: string, condition: () => boolean | Promise<boolean>, limit = this.pick(60_000, 180_000)) {
    const look = () => {
      this.readOn();
      return condition();
    };
    return eventually(what, look, limit, this.signal);
  }

  /** Adds jobs, due at this instant, until one has a copy on each node. */
  storedEverywhere(what: string, producer: ProducerSide, due: () => number): Promise<void> {
    return this.eventually(what, async () => {
      const { copies } = await producer.add({ due: due() });
      return copies === this.beanstalkds.length;
    });
  }

  /**
   * Waits until every job has run that has to, and no reachable node has a copy any more, so that nothing else can
   * happen. What is not so within the limit is found as lost, or as copies that are left.
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

  /** How many jobs still have to run. */
  open(): number {
    let open = 0;
    for (const job of this.history.all()) if (isLost(job)) open++;
    return open;
  }

  /** On the nodes that answer. */
  async copiesLeft(): Promise<number> {
    const counts = await Promise.all(this.beanstalkds.map(copiesOn));
    return counts.reduce<number>((sum, count) => sum + (count ?? 0), 0);
  }

  /** Asks Redis as a person with a shell would. */
  async withRedis<T>(ask: (redis: Redis) => Promise<T>, url = this.redisUrl): Promise<T> {
    const redis = new Redis(url, { commandTimeout: REDIS_LIMIT });
    try {
      return await ask(redis);
    } finally {
      redis.disconnect();
    }
  }

  /** How many keys the ledger has. */
  ledgerRecords(): Promise<number> {
    return this.withRedis(async (redis) => {
      let keys = 0;
      for await (const page of redis.scanStream({ count: 1_000 })) keys += (page as string[]).length;
      return keys;
    });
  }

  /** Ends all processes; with `keep`, the logs stay in `folder`. */
  async close(keep: boolean): Promise<void> {
    for (const close of this.closing.splice(0).reverse()) await close();
    this.asked.close();
    if (!keep) await rm(this.folder, { recursive: true, force: true });
  }

  private get running() {
    if (!this.servers) throw new Error('the servers of this lab are not started');
    return this.servers;
  }

  private readOn(): void {
    for (const consumer of this.consumers) for (const line of consumer.read()) this.history.add(line);
  }
}

/** How many copies a node holds that can still surface. Undefined while it does not answer. */
export async function copiesOn(node: Address): Promise<number | undefined> {
  const copies = await nodeCopies(node).catch(() => undefined); // down: that is an answer here
  return copies?.live;
}

/** What the producer's application says, beside the other logs. */
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
