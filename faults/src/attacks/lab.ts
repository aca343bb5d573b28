import { randomBytes } from 'node:crypto';
import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineTube, type DqOptions, type JobReceipt, type JobRefText, type RevokeResult } from 'nest-dq';
import { nodeCopies } from 'test-servers';
import { Lab, FileLogger, type Timetable } from '../lab.js';
import { LoggedProcess } from '../logged-process.js';
import { latenesses } from '../measures.js';
import { ProducerSide } from '../producer-side.js';
import type { Task } from '../task.js';
import { TaskProducerApp } from '../task-producer.js';
import { newFolder, type LabSettings } from '../workplace.js';
import { Attacker } from './attacker.js';
import type { Allowed, Evidence } from './checker.js';
import type { AttackedArguments } from './consumer/main.js';
import type { Copy } from './copy.js';
import type { AttackedLine, Refused, Seen } from './log.js';
import { RedisWatch } from './redis-watch.js';
import { TUBES, Workload, type TubeName } from './workload.js';

export interface AttackSettings extends LabSettings {
  /** The application has no seal. Then attacks must succeed: this shows that their checks can fail. */
  readonly unsealed: boolean;
}

/** Another application on the same servers, with the same key. */
export const OTHER_PREFIX = 'shop.';

const CONSUMERS = 2;
/** Jobs of a tube that wait all the time, so that nobody but an attacker touches their copies. */
const VICTIMS = 5;
const VICTIM_DELAY = 3_600_000;
const KEY_NAME = 'a';

/** An application with sealed jobs under load, an attacker, and all that was seen from outside. */
export class AttackLab extends Lab {
  /** It is in each payload, key, header and group of the application. */
  readonly secret = `secret-${randomBytes(8).toString('hex')}`;
  readonly seen: Seen[] = [];
  readonly refused: Refused[] = [];
  readonly unsealed: boolean;
  /** When the jobs of the workload are due. */
  times!: Timetable;
  attacker!: Attacker;
  /** Copies that nobody but the attacker touches: of jobs that are due in an hour. */
  victims: readonly Copy[] = [];
  private readonly key = randomBytes(32).toString('base64');
  private readonly scheduled = new Map<string, string>();
  private readonly processes: LoggedProcess<AttackedLine>[] = [];
  private readonly sides = new Map<TubeName, ProducerSide>();
  private readonly waiting: { readonly app: TaskProducerApp; readonly receipt: JobReceipt }[] = [];
  private app!: TaskProducerApp;
  /** Resolves when all jobs of the workload were added, or their adds failed. */
  load!: Promise<void>;
  private readableCopies = 0;
  private redisWatch!: RedisWatch;

  private constructor({ unsealed, ...settings }: AttackSettings, folder: string) {
    super(settings, folder);
    this.unsealed = unsealed;
  }

  static override async open(settings: AttackSettings): Promise<AttackLab> {
    return new AttackLab(settings, await newFolder(settings));
  }

  /**
   * Starts the application with its load, and the servers unless they run. Resolves when half of the jobs and all victims wait, and the
   * first jobs are not due yet.
   */
  async startApplication(options: DqOptions = {}): Promise<void> {
    if (!this.hasServers) await this.startServers();
    this.attacker = await this.owned(new Attacker(this.beanstalkds, this.signal));
    this.redisWatch = await this.owned(RedisWatch.on(this.redisUrl, this.secret));
    const given = { ...this.options, ...this.sealWith(), ...options };
    this.app = await this.startProducerApp(given);
    for (const tube of TUBES) this.sides.set(tube, this.sideOf(tube));
    for (let i = 1; i <= CONSUMERS; i++) await this.startProcess(`consumer-${i}`, given);
    for (const tube of TUBES) await this.addWaiting(this.app, tube);
    await this.addWaiting(await this.startProducerApp({ ...given, prefix: OTHER_PREFIX }), TUBES[0]);
    this.victims = await this.scan();
    this.times = this.timetable(this.jobs, this.pick(4_000, 20_000));
    const { jobs, sides, times, secret, signal } = this;
    const workload = new Workload({ jobs, sides, times, secret, signal });
    await workload.addFirst();
    this.load = workload.goOn();
    this.load.catch(() => undefined); // `evidence` awaits it
  }

  /** A producer of another cluster or key, with a victim in each of these tubes. */
  async startOther(options: DqOptions, tube: TubeName): Promise<void> {
    await this.addWaiting(await this.startProducerApp({ ...this.options, ...options }), tube);
  }

  /** `more`: options of the seal in addition to the key, which is that of the application by default. */
  sealWith(key = this.key, more: { readonly context?: string } = {}): DqOptions {
    return this.unsealed ? {} : { seal: { keys: { [KEY_NAME]: key }, current: KEY_NAME, ...more } };
  }

  /** Revokes a job that a client of the application names. */
  revokeFor(ref: string): Promise<RevokeResult> {
    return this.app.revoke(ref as JobRefText);
  }

  /** Lines in the logs of all consumers that match. */
  consumerLines(wanted: RegExp): string[] {
    const logs = this.processes.map(({ name }) => readFileSync(join(this.folder, `${name}.output`), 'utf8'));
    return logs.flatMap((log) => log.split('\n')).filter((line) => wanted.test(line));
  }

  side(tube: TubeName): ProducerSide {
    return this.sides.get(tube)!;
  }

  /** Reads all copies on all nodes, as an attacker does, and counts those that show a secret. */
  async scan(): Promise<Copy[]> {
    const copies = await this.attacker.scan();
    this.readableCopies += copies.filter(({ body }) => body.includes(this.secret)).length;
    return copies;
  }

  /** The copies of jobs that wait, but for the victims. */
  async waitingCopies(): Promise<Copy[]> {
    const victims = new Set(this.victims.map(({ node, id }) => `${node} ${id}`));
    return (await this.scan()).filter(({ node, id }) => !victims.has(`${node} ${id}`));
  }

  /** Resolves when the workload is done, and all its jobs but these ran. What did not run after a while is lost. */
  async allRan(but: ReadonlySet<number> = new Set()): Promise<void> {
    await this.load;
    await this.tries('all jobs ran', () => this.findings().lost.every((job) => but.has(job)));
  }

  victimsIn(tube: string): Copy[] {
    return this.victims.filter((copy) => copy.tube === tube);
  }

  /** The jobs of a tube that the workload has added. */
  jobsOf(tube: TubeName): Set<number> {
    return new Set(this.jobsBy((name) => name === tube));
  }

  /** How late the first starts were, in the other tubes, of schedules that were due in this time. In no order. */
  latenessBeside(tube: TubeName, from = -Infinity, to = Infinity): number[] {
    return latenesses(
      this.history,
      this.jobsBy((name) => name !== tube),
      from,
      to,
    );
  }

  /** Waits until all is over, and tells what was seen. */
  async evidence({ jobs }: Allowed): Promise<Evidence> {
    await this.allRan(jobs);
    await this.tries('all is refused that must be', () => this.refusedCount() >= this.attacker.toRefuse);
    const letters = await this.lettersLeft();
    const mayStay = () => this.victims.length + this.attacker.staying + this.handedBack();
    await this.tries('no copy is left', async () => (await this.liveCopies()) <= mayStay());
    const left = await this.liveCopies();
    await this.scan();
    const victims = await Promise.all(
      this.victims.map(async (copy) => ({ copy, after: await this.attacker.peek(copy) })),
    );
    const answers = await Promise.all(this.waiting.map(({ app, receipt }) => app.revoke(receipt)));
    return {
      found: this.findings(),
      scheduled: this.scheduled,
      seen: this.seen,
      readable: { nodes: this.readableCopies, redis: this.redisWatch.readable },
      commands: this.redisWatch.commands,
      victims,
      unrevoked: answers.filter((answer) => answer !== 'revoked'),
      refused: this.refusedCount(),
      toRefuse: this.attacker.toRefuse,
      letters,
      ended: this.processes.filter(({ alive }) => !alive).map(({ name }) => name),
      copiesLeft: Math.max(0, left - mayStay()),
    };
  }

  /** Each copy once, though one that was handed back comes again. */
  refusedCount(): number {
    return new Set(this.refused.map(({ node, copyId }) => `${node} ${copyId}`)).size;
  }

  /** Number of copies refused because their key is unknown: they keep coming back. */
  private handedBack(): number {
    const copies = this.refused.filter(({ buried }) => !buried);
    return new Set(copies.map(({ node, copyId }) => `${node} ${copyId}`)).size;
  }

  private async liveCopies(): Promise<number> {
    const counts = await Promise.all(this.beanstalkds.map(nodeCopies));
    return counts.reduce((sum, { live }) => sum + live, 0);
  }

  private async lettersLeft(): Promise<number> {
    const lists = await Promise.all(
      TUBES.map((tube) => this.app.withTube(defineTube<Task>(tube)).deadLetters()),
    );
    return lists.flat().length;
  }

  private jobsBy(wanted: (tube: string | undefined) => boolean): number[] {
    return [...this.history.all()]
      .filter(({ schedules }) => schedules.some(({ payload }) => wanted(this.scheduled.get(payload ?? ''))))
      .map(({ job }) => job);
  }

  /** Waits, and continues in any case: a check reports a failure. An application without a seal gets less time, since it must fail. */
  async tries(what: string, condition: () => boolean | Promise<boolean>, limit?: number): Promise<void> {
    try {
      await this.eventually(what, condition, this.unsealed ? 3_000 : limit);
    } catch (error) {
      this.signal.throwIfAborted();
      appendFileSync(join(this.folder, 'lab.output'), `${String(error)}\n`);
    }
  }

  private startProducerApp(options: DqOptions): Promise<TaskProducerApp> {
    return TaskProducerApp.start(options, new FileLogger(join(this.folder, 'producer.output')));
  }

  private sideOf(tube: TubeName): ProducerSide {
    const app = this.app.withTube(defineTube<Task>(tube));
    return new ProducerSide(
      app,
      () => this.nextJob(),
      (line) => {
        if (line.what === 'schedule' && line.payload !== undefined) this.scheduled.set(line.payload, tube);
        this.note(line);
      },
      this.signal,
    );
  }

  /** Jobs that wait for an hour. They are not in the history: none may run. */
  private async addWaiting(producer: TaskProducerApp, tube: TubeName): Promise<void> {
    const app = producer.withTube(defineTube<Task>(tube));
    await this.owned({ stop: () => app.close() });
    for (let i = 0; i < VICTIMS; i++) {
      const task: Task = { job: this.nextJob(), generation: 0, acts: [], secret: this.secret };
      this.waiting.push({ app, receipt: await app.delay(task, VICTIM_DELAY, {}) });
    }
  }

  private async startProcess(name: string, options: DqOptions): Promise<void> {
    const how: Omit<AttackedArguments, 'log'> = { name, options, tubes: TUBES };
    const started = LoggedProcess.start<AttackedLine>('attacks/consumer/main.js', this.folder, how);
    const process = await this.owned(started);
    this.processes.push(process);
    this.read({ read: () => process.read().filter((line) => this.isOfRuns(line)) });
  }

  /** Keeps the lines that only attacks have. */
  private isOfRuns(line: AttackedLine): line is Exclude<AttackedLine, Seen | Refused> {
    if (line.what === 'seen') this.seen.push(line);
    else if (line.what === 'refused') this.refused.push(line);
    else return true;
    return false;
  }
}
