// Services with go-queue on the tube of an experiment: they add jobs, revoke them and run them. The outside log has what they do, too.
import { ensureGoQueue, GoQueueProcess } from 'test-servers';
import type { Lab } from '../lab.js';
import type { Line, Revocation, Schedule } from '../log.js';
import { TASKS, type Task } from '../task.js';
import { GoConsumer } from './consumer.js';
import { GoFates } from './fates.js';

export class GoServices {
  /** Records of what they did with each job. */
  readonly fates = new GoFates();
  readonly consumers: GoConsumer[] = [];
  private readonly ids = new Map<number, string>();
  private readonly endpoints: readonly string[];

  private constructor(
    private readonly lab: Lab,
    private readonly program: string,
    private readonly producer: GoQueueProcess,
  ) {
    this.endpoints = lab.beanstalkds.map(({ endpoint }) => endpoint);
  }

  /** Resolves with undefined if Go is not installed on this machine. */
  static async start(lab: Lab): Promise<GoServices | undefined> {
    const program = await ensureGoQueue();
    if (program === undefined) return undefined;
    const endpoints = lab.beanstalkds.map(({ endpoint }) => endpoint);
    const producer = GoQueueProcess.producer(program, TASKS.name, endpoints);
    await lab.owned({ stop: () => producer.kill() });
    return new GoServices(lab, program, producer);
  }

  async startConsumer(): Promise<GoConsumer> {
    const redis = this.lab.redisUrl.replace('redis://', '');
    const process = await GoQueueProcess.consumer(this.program, TASKS.name, redis, this.endpoints);
    const consumer = new GoConsumer(`go-${this.consumers.length + 1}`, process, this.fates);
    await this.lab.owned({ stop: () => consumer.kill() });
    this.consumers.push(consumer);
    this.lab.read(consumer);
    return consumer;
  }

  /** Whether no handler of theirs is at work. */
  get idle(): boolean {
    return this.consumers.every(({ busy }) => !busy);
  }

  /** Adds a job at its instant. Resolves when the answer is there. */
  async add(acts: Task['acts'], due: number): Promise<Schedule> {
    const job = this.lab.nextJob();
    const given: Task = { job, generation: 0, acts };
    const askedAt = Date.now();
    const ids = await this.producer.add('at', due, JSON.stringify(given));
    const base = { what: 'schedule', job, generation: 0, due, askedAt, at: Date.now() } as const;
    const schedule: Schedule = ids.startsWith('error')
      ? { ...base, answer: 'refused', code: ids }
      : { ...base, answer: 'stored', copies: ids.split(',').length };
    if (schedule.answer === 'stored') this.ids.set(job, ids);
    return this.note(schedule);
  }

  /** Its reference of a job that it has added. */
  idsOf(job: number): string | undefined {
    return this.ids.get(job);
  }

  /** `none`: go-queue's revoke reported an error. */
  async revoke(job: number): Promise<Revocation> {
    const askedAt = Date.now();
    const answer = await GoQueueProcess.revoke(this.program, this.ids.get(job)!);
    const how = answer === 'ok' ? 'revoked' : 'none';
    return this.note({ what: 'revoke', job, askedAt, at: Date.now(), answer: how });
  }

  private note<L extends Line>(line: L): L {
    this.lab.note(line);
    return line;
  }
}
