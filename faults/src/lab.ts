import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import type { LoggerService } from '@nestjs/common';
import { Redis } from 'ioredis';
import type { BatchHandlerOptions, DqOptions, LimitOptions } from 'nest-dq';
import type { TubeWire } from 'nest-dq/go-queue';
import {
  nodeCopies,
  startBeanstalkd,
  startRedis,
  type Address,
  type BeanstalkdOptions,
  type BeanstalkdServer,
  type RedisServer,
} from 'test-servers';
import { check, isLost, type Findings } from './checker.js';
import type { ConsumerArguments } from './consumer/main.js';
import { LoggedProcess } from './logged-process.js';
import { History } from './history.js';
import { LogWriter, type Line } from './log.js';
import { ProducerProcess } from './producer-process.js';
import { ProducerSide } from './producer-side.js';
import { TaskProducerApp, type TaskProducer } from './task-producer.js';
import { tasks } from './task.js';
import { newFolder, Workplace, type LabSettings } from './workplace.js';

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
/** Timeout of a Redis command, in ms. */
const REDIS_LIMIT = 30_000;
/** Slots of a consumer process. */
const CONCURRENCY = 50;

/** The servers, the producers and the consumer processes of one experiment, and the outside log of all of them. */
export class Lab extends Workplace {
  /** Milliseconds; `options` has the same. */
  readonly lease: number;
  readonly backupDelay: number;
  /** In the order of their starts. The dead ones stay in the list, because their logs count. */
  readonly consumers: LoggedProcess[] = [];
  readonly history = new History();
  /** Where the ledger is. An experiment that moves the ledger sets it. */
  redisUrl = '';
  /** Limit of the consumers that are started from now on. */
  limit: LimitOptions | undefined;
  /** Batches of the consumers that are started from now on. */
  batch: BatchHandlerOptions['batch'] | undefined;
  /** Wire format of the tube, for all that is started from now on. */
  wire: TubeWire | undefined;
  private servers:
    | { readonly beanstalkds: readonly BeanstalkdServer[]; readonly redis: RedisServer }
    | undefined;
  private readonly asked: LogWriter;
  private readonly others: { read(): Line[] }[] = [];
  private startedConsumers = 0;
  private startedJobs = 0;

  protected constructor(settings: LabSettings, folder: string) {
    super(settings, folder);
    const { small } = settings;
    this.lease = small ? 3_000 : 15_000;
    this.backupDelay = small ? 1_000 : 2_000;
    this.asked = new LogWriter(join(folder, 'asked.log'));
    this.closing.push(() => this.asked.close());
  }

  /** Starts no server and no process. */
  static async open(settings: LabSettings): Promise<Lab> {
    return new Lab(settings, await newFolder(settings));
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
      advanced: { lease: this.lease, backupDelay: this.backupDelay },
      handlers: { concurrency: CONCURRENCY },
    };
  }

  /** The default options of the applications, with others. */
  private with(options: DqOptions): DqOptions {
    const { advanced } = this.options;
    return { ...this.options, ...options, advanced: { ...advanced, ...options.advanced } };
  }

  /** `ahead`: milliseconds by which its clock is wrong. If it is not 0, the producer is a process of its own. */
  async startProducer(options: DqOptions = {}, ahead = 0): Promise<ProducerSide> {
    const given = this.with(options);
    let producer: TaskProducer;
    if (ahead === 0) {
      const app = await TaskProducerApp.start(given, new FileLogger(this.producerOutput), tasks(this.wire));
      this.closing.push(() => app.close());
      producer = app;
    } else producer = await this.startProducerProcess(options, ahead);
    const note = (line: Line) => this.note(line);
    return new ProducerSide(producer, () => this.nextJob(), note, this.signal);
  }

  /** A producer in a process of its own, which may be killed. */
  async startProducerProcess(options: DqOptions = {}, ahead = 0): Promise<ProducerProcess> {
    const given = { options: this.with(options), ahead };
    const producer = await ProducerProcess.start(given, this.producerOutput);
    this.closing.push(() => producer.kill());
    return producer;
  }

  /** Resolves when the consumer consumes. `ahead`: milliseconds by which its clock is wrong. */
  async startConsumer(options: DqOptions = {}, ahead = 0): Promise<LoggedProcess> {
    this.signal.throwIfAborted();
    const name = `consumer-${++this.startedConsumers}`;
    const { folder, limit, wire, batch } = this;
    const given = this.with(options);
    const how: Omit<ConsumerArguments, 'log'> = { name, options: given, ahead, limit, wire, batch };
    const consumer = await LoggedProcess.start('consumer/main.js', folder, how);
    this.closing.push(() => consumer.stop());
    this.consumers.push(consumer);
    return consumer;
  }

  /** The number of a new job. */
  nextJob(): number {
    return this.startedJobs++;
  }

  /** Logs a call with its answer. */
  note(line: Line): void {
    this.asked.write(line);
    this.history.add(line);
  }

  /** Reads the log of others that run jobs, too. */
  read(log: { read(): Line[] }): void {
    this.others.push(log);
  }

  /** A window that begins when all these jobs are surely added. It grows with their number, and lasts `least` ms or more. */
  timetable(jobs = this.jobs, least = SHORTEST_WINDOW): Timetable {
    const begin = Date.now() + LEAD + jobs * PER_JOB;
    const window = Math.max(least, jobs * PER_JOB);
    return { begin, end: begin + window, at: (part) => begin + part * window };
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

  protected get hasServers(): boolean {
    return this.servers !== undefined;
  }

  private get producerOutput(): string {
    return join(this.folder, 'producer.output');
  }

  private get running() {
    if (!this.servers) throw new Error('the servers of this lab were not started');
    return this.servers;
  }

  protected override readOn(): void {
    for (const log of [...this.consumers, ...this.others]) {
      for (const line of log.read()) this.history.add(line);
    }
  }
}

/** The number of copies on a node that can still surface. Undefined while the node does not answer. */
export async function copiesOn(node: Address): Promise<number | undefined> {
  const copies = await nodeCopies(node).catch(() => undefined); // a node that is down is expected here
  return copies?.live;
}

/** Writes the warnings and errors of the producer's application to a file next to the other logs. */
export class FileLogger implements LoggerService {
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
