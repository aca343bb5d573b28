import type { INestApplicationContext, LoggerService } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  DqEvents,
  DqModule,
  DqProducer,
  type DqOptions,
  type JobOptions,
  type JobReceipt,
  type JobRef,
  type JobView,
  type RescheduleResult,
  type RevokeOptions,
  type RevokeResult,
} from 'nest-dq';
import { DqControl, DqDeadLetters, type DeadLetter, type JobEnd, type RepairOptions } from 'nest-dq/operate';
import { TASKS, type Task } from './task.js';

const LETTERS_AT_ONCE = 1_000;

/** The calls of a producer, in this process or in another one. They reject with the errors of the library. */
export interface TaskProducer {
  at(task: Task, due: number, options: JobOptions): Promise<JobReceipt>;
  delay(task: Task, ms: number, options: JobOptions): Promise<JobReceipt>;
  revoke(ref: JobRef, options?: RevokeOptions): Promise<RevokeResult>;
  /** Revokes all that waits. Resolves with the ids of what was revoked. */
  revokeAll(): Promise<string[]>;
  reschedule(receipt: JobReceipt, due: number, task: Task): Promise<RescheduleResult>;
  /** Resolves with how many jobs were moved. */
  repair(options: RepairOptions): Promise<number>;
  drainNode(endpoint: string): Promise<boolean>;
  pause(): Promise<void>;
  resume(): Promise<void>;
  /** The state of a job; undefined if it is forgotten. */
  stateOf(ref: JobRef): Promise<JobView['state'] | undefined>;
  /** Waits for the end of a job, for at most `timeout` ms. */
  endOf(ref: JobRef, timeout: number): Promise<JobEnd>;
  /** All dead letters. */
  deadLetters(): Promise<DeadLetter<Task>[]>;
  close(): Promise<void>;
}

/** A Nest application like that of a user. */
export class TaskProducerApp implements TaskProducer {
  private constructor(
    private readonly app: INestApplicationContext,
    private readonly tube: typeof TASKS,
    private readonly producer: DqProducer,
    private readonly letters: DqDeadLetters,
    private readonly control: DqControl,
  ) {}

  static async start(options: DqOptions, logger: LoggerService, tube = TASKS): Promise<TaskProducerApp> {
    const module = DqModule.forRoot({ ...options, consume: false, logger });
    const app = await NestFactory.createApplicationContext(module, { logger });
    return new TaskProducerApp(app, tube, app.get(DqProducer), app.get(DqDeadLetters), app.get(DqControl));
  }

  /** The same application, with another tube. */
  withTube(tube: typeof TASKS): TaskProducerApp {
    return new TaskProducerApp(this.app, tube, this.producer, this.letters, this.control);
  }

  at(task: Task, due: number, options: JobOptions): Promise<JobReceipt> {
    return this.producer.at(this.tube, task, due, options);
  }

  delay(task: Task, ms: number, options: JobOptions): Promise<JobReceipt> {
    return this.producer.delay(this.tube, task, ms, options);
  }

  revoke(ref: JobRef, options?: RevokeOptions): Promise<RevokeResult> {
    return this.producer.revoke(ref, options);
  }

  async revokeAll(): Promise<string[]> {
    const revoked: string[] = [];
    const listening = this.app
      .get(DqEvents)
      .on('revoked')
      .subscribe(({ id }) => revoked.push(id));
    for await (const { failures } of this.control.revokeMany(this.tube, {}))
      for (const { error } of failures) throw error;
    listening.unsubscribe();
    return revoked;
  }

  reschedule(receipt: JobReceipt, due: number, task: Task): Promise<RescheduleResult> {
    return this.producer.reschedule(receipt, due, { payload: task, allowPast: true });
  }

  async repair(options: RepairOptions): Promise<number> {
    let moved = 0;
    for await (const { done } of this.control.repair(options)) moved = done;
    return moved;
  }

  drainNode(endpoint: string): Promise<boolean> {
    return this.control.drainNode(endpoint);
  }

  async pause(): Promise<void> {
    await this.control.pause(this.tube);
  }

  async resume(): Promise<void> {
    await this.control.resume(this.tube);
  }

  async stateOf(ref: JobRef): Promise<JobView['state'] | undefined> {
    return (await this.producer.find(ref))?.state;
  }

  endOf(ref: JobRef, timeout: number): Promise<JobEnd> {
    return this.producer.finished(ref, { timeout });
  }

  async deadLetters(): Promise<DeadLetter<Task>[]> {
    const all: DeadLetter<Task>[] = [];
    let cursor: string | undefined;
    do {
      const page = await this.letters.list(this.tube, { limit: LETTERS_AT_ONCE, ...(cursor && { cursor }) });
      all.push(...page.letters);
      cursor = page.cursor;
    } while (cursor !== undefined);
    return all;
  }

  async close(): Promise<void> {
    await this.app.close();
  }
}
