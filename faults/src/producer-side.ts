import {
  DqError,
  type JobOptions,
  type JobReceipt,
  type JobRef,
  type JobView,
  type RevokeOptions,
} from 'nest-dq';
import type { DeadLetter, JobEnd, RepairOptions } from 'nest-dq/operate';
import type { Line, Revocation, Schedule } from './log.js';
import type { Act, Task } from './task.js';
import type { TaskProducer } from './task-producer.js';

/** Calls in flight. More would only wait in a queue of this process. */
const IN_FLIGHT = 64;

/** How a call that waited for the end of a job was answered: with the end, or the code of an error. */
export interface AwaitedEnd {
  readonly job: number;
  readonly askedAt: number;
  readonly at: number;
  readonly end?: JobEnd;
  readonly code?: string;
}

export interface NewTask {
  /** An instant in ms. A job whose instant is in the past runs now. */
  readonly due: number;
  /** Adds with the delay that is left until `due`. @default false: with the instant */
  readonly byDelay?: boolean;
  /** Acts of its handler: see `Task`. @default [] */
  readonly acts?: readonly Act[];
  /** This job is meant never to succeed. @default false */
  readonly doomed?: boolean;
  /** See `Task`. @default none */
  readonly secret?: string;
  /** Has a key of its own. @default false */
  readonly keyed?: boolean;
  /** @default none */
  readonly options?: JobOptions;
}

/** Makes the calls of a producer by job number, and logs each call with its answer. */
export class ProducerSide {
  /** References of jobs that others have added. */
  private readonly foreign = new Map<number, JobRef>();

  constructor(
    private readonly producer: TaskProducer,
    /** The number of a new job. */
    private readonly nextNumber: () => number,
    private readonly note: (line: Line) => void,
    private readonly signal: AbortSignal,
    private readonly receipts = new Map<number, JobReceipt>(),
    private readonly tasks = new Map<number, Task>(),
  ) {}

  /** The same jobs, through another producer. */
  through(producer: TaskProducer): ProducerSide {
    const { nextNumber, note, signal, receipts, tasks } = this;
    return new ProducerSide(producer, nextNumber, note, signal, receipts, tasks);
  }

  /** Adds one job. Resolves when the answer is there, also if it is a DqError. */
  async add({ due, byDelay, acts = [], doomed, secret, keyed, options }: NewTask): Promise<Schedule> {
    const job = this.nextNumber();
    const task: Task = { job, generation: 0, acts, ...(secret !== undefined && { secret }) };
    return this.schedule(task, due, doomed, async (askedAt) => {
      const how: JobOptions = { allowPast: true, ...(keyed && { key: keyOf(job) }), ...options };
      const receipt = byDelay
        ? await this.producer.delay(task, Math.max(0, due - askedAt), how)
        : await this.producer.at(task, due, how);
      this.receipts.set(job, receipt);
      const { copies, dueAt } = receipt;
      return { answer: 'stored', due: dueAt.getTime(), copies };
    });
  }

  /** Adds `count` jobs in this order, the i-th as `task` says. Resolves when all answers are there. */
  addMany(count: number, task: (i: number) => NewTask): Promise<Schedule[]> {
    return this.inParallel(count, (i) => this.add(task(i)));
  }

  /** Lets it revoke a job that others have added. */
  know(job: number, ref: JobRef): void {
    this.foreign.set(job, ref);
  }

  /** Logs `none` as the answer if the ledger was down. */
  async revoke(job: number, options?: RevokeOptions): Promise<Revocation> {
    const askedAt = Date.now();
    let answer: Revocation['answer'] = 'none';
    try {
      answer = await this.producer.revoke(this.foreign.get(job) ?? this.receipt(job), options);
    } catch (error) {
      if (!(error instanceof DqError && error.code === 'DQ_LEDGER_DOWN')) throw error;
    }
    const revocation: Revocation = { what: 'revoke', job, askedAt, at: Date.now(), answer };
    this.note(revocation);
    return revocation;
  }

  revokeMany(jobs: readonly number[], options?: RevokeOptions): Promise<Revocation[]> {
    return this.inParallel(jobs.length, (i) => this.revoke(jobs[i]!, options));
  }

  /** Revokes all that waits by one call, and logs each job that was revoked. */
  async revokeAll(): Promise<Revocation[]> {
    const askedAt = Date.now();
    const ids = new Set(await this.producer.revokeAll());
    const at = Date.now();
    const jobs = [...this.receipts].filter(([, { id }]) => ids.has(id));
    const revocations = jobs.map(([job]): Revocation => ({
      what: 'revoke',
      job,
      askedAt,
      at,
      answer: 'revoked',
    }));
    for (const revocation of revocations) this.note(revocation);
    return revocations;
  }

  /** Adds a job under the key of a stored one. It has the next generation. */
  async replace(job: number, due: number): Promise<Schedule> {
    const task = this.next(job);
    return this.schedule(task, due, false, async () => {
      const receipt = await this.producer.at(task, due, { allowPast: true, key: keyOf(job) });
      this.receipts.set(job, receipt);
      return { answer: 'stored' };
    });
  }

  /** Reschedules a stored job, whose payload gets the next generation. `refused`: the job was not rescheduled. */
  async reschedule(job: number, due: number): Promise<Schedule> {
    const task = this.next(job);
    return this.schedule(task, due, false, async () => {
      const result = await this.producer.reschedule(this.receipt(job), due, task);
      return result === 'rescheduled' ? { answer: 'stored' } : { answer: 'refused', code: result };
    });
  }

  rescheduleMany(jobs: readonly number[], due: (i: number) => number): Promise<Schedule[]> {
    return this.inParallel(jobs.length, (i) => this.reschedule(jobs[i]!, due(i)));
  }

  /** Resolves with how many jobs were moved. Their instants are the same as before. */
  repair(options: RepairOptions): Promise<number> {
    return this.producer.repair(options);
  }

  drainNode(endpoint: string): Promise<boolean> {
    return this.producer.drainNode(endpoint);
  }

  pause(): Promise<void> {
    return this.producer.pause();
  }

  resume(): Promise<void> {
    return this.producer.resume();
  }

  statesOf(jobs: readonly number[]): Promise<(JobView['state'] | undefined)[]> {
    return this.inParallel(jobs.length, (i) => this.producer.stateOf(this.receipt(jobs[i]!)));
  }

  /** Waits for the end of a stored job, for at most `timeout` ms. */
  async endOf(job: number, timeout: number): Promise<AwaitedEnd> {
    const askedAt = Date.now();
    try {
      const end = await this.producer.endOf(this.receipt(job), timeout);
      return { job, askedAt, at: Date.now(), end };
    } catch (error) {
      if (!(error instanceof DqError)) throw error;
      return { job, askedAt, at: Date.now(), code: error.code };
    }
  }

  deadLetters(): Promise<DeadLetter<Task>[]> {
    return this.producer.deadLetters();
  }

  /** The receipt of a stored job. */
  receipt(job: number): JobReceipt {
    const receipt = this.receipts.get(job);
    if (!receipt) throw new Error(`job ${job} was not stored`);
    return receipt;
  }

  async close(): Promise<void> {
    await this.producer.close();
  }

  private next(job: number): Task {
    const before = this.tasks.get(job)!;
    return { ...before, generation: before.generation + 1 };
  }

  /** Makes the call, and logs it with its answer. */
  private async schedule(
    task: Task,
    due: number,
    doomed: boolean | undefined,
    ask: (askedAt: number) => Promise<Partial<Schedule> & Pick<Schedule, 'answer'>>,
  ): Promise<Schedule> {
    const { job, generation } = task;
    this.tasks.set(job, task);
    const askedAt = Date.now();
    const payload = task.secret === undefined ? {} : { payload: JSON.stringify(task) };
    const base = { what: 'schedule', job, generation, due, askedAt, doomed, ...payload } as const;
    let schedule: Schedule;
    try {
      const answer = await ask(askedAt);
      schedule = { ...base, at: Date.now(), ...answer };
    } catch (error) {
      if (!(error instanceof DqError)) throw error;
      const { code, indeterminate } = error;
      schedule = { ...base, at: Date.now(), answer: indeterminate ? 'unsure' : 'refused', code };
    }
    this.note(schedule);
    return schedule;
  }

  private async inParallel<T>(count: number, call: (i: number) => Promise<T>): Promise<T[]> {
    const results: T[] = [];
    let next = 0;
    const worker = async () => {
      while (next < count) {
        this.signal.throwIfAborted();
        const i = next++;
        results[i] = await call(i);
      }
    };
    await Promise.all(Array.from({ length: Math.min(IN_FLIGHT, count) }, worker));
    return results;
  }
}

function keyOf(job: number): string {
  return `job ${job}`;
}
