import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import {
  DqError,
  type JobOptions,
  type JobReceipt,
  type JobRef,
  type JobView,
  type RescheduleResult,
  type RevokeOptions,
  type RevokeResult,
} from 'nest-dq';
import type { DeadLetter, JobEnd, RepairOptions } from 'nest-dq/operate';
import type { Answer, ProducerArguments, Question } from './producer/main.js';
import type { Task } from './task.js';
import type { TaskProducer } from './task-producer.js';

const PROGRAM = fileURLToPath(new URL('producer/main.js', import.meta.url));

interface Waiting {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** The application of a producer in a process of its own, whose clock may be wrong. */
export class ProducerProcess implements TaskProducer {
  private readonly waiting = new Map<number, Waiting>();
  private asked = 0;

  private constructor(private readonly child: ChildProcess) {
    child.on('message', (answer: Answer) => this.answered(answer));
    child.once('exit', () => {
      for (const { reject } of this.waiting.values()) {
        reject(new DqError('DQ_CLOSED', 'the producer process exited', { indeterminate: true }));
      }
    });
  }

  /** Resolves when its application is ready. `output` is the file for what it prints. */
  static async start(given: ProducerArguments, output: string): Promise<ProducerProcess> {
    const file = openSync(output, 'a');
    const child = fork(PROGRAM, [JSON.stringify(given)], {
      stdio: ['ignore', file, file, 'ipc'],
      execArgv: ['--enable-source-maps'],
      serialization: 'advanced', // so that a Date arrives as a Date
      detached: true, // Ctrl-C in a terminal reaches the whole process group; here the lab decides
    });
    closeSync(file);
    const ready = once(child, 'message').then(() => true);
    const ended = once(child, 'exit').then(() => false);
    if (await Promise.race([ready, ended])) return new ProducerProcess(child);
    throw new Error(`the producer process exited before it was ready: see ${output}`);
  }

  at(task: Task, due: number, options: JobOptions): Promise<JobReceipt> {
    return this.ask('at', task, due, options);
  }

  delay(task: Task, ms: number, options: JobOptions): Promise<JobReceipt> {
    return this.ask('delay', task, ms, options);
  }

  revoke(receipt: JobReceipt, options?: RevokeOptions): Promise<RevokeResult> {
    return this.ask('revoke', receipt, options);
  }

  revokeAll(): Promise<string[]> {
    return this.ask('revokeAll');
  }

  reschedule(receipt: JobReceipt, due: number, task: Task): Promise<RescheduleResult> {
    return this.ask('reschedule', receipt, due, task);
  }

  repair(options: RepairOptions): Promise<number> {
    return this.ask('repair', options);
  }

  drainNode(endpoint: string): Promise<boolean> {
    return this.ask('drainNode', endpoint);
  }

  pause(): Promise<void> {
    return this.ask('pause');
  }

  resume(): Promise<void> {
    return this.ask('resume');
  }

  stateOf(ref: JobRef): Promise<JobView['state'] | undefined> {
    return this.ask('stateOf', ref);
  }

  endOf(ref: JobRef, timeout: number): Promise<JobEnd> {
    return this.ask('endOf', ref, timeout);
  }

  deadLetters(): Promise<DeadLetter<Task>[]> {
    return this.ask('deadLetters');
  }

  async close(): Promise<void> {
    await this.ask('close');
    await this.kill();
  }

  /** Ends it at once, in the middle of its calls. Idempotent. */
  async kill(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const ended = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await ended;
  }

  private ask<T>(method: keyof TaskProducer, ...given: unknown[]): Promise<T> {
    const question: Question = { id: this.asked++, method, given };
    return new Promise((resolve, reject) => {
      this.waiting.set(question.id, { resolve: (result) => resolve(result as T), reject });
      this.child.send(question);
    });
  }

  private answered({ id, result, error }: Answer): void {
    const { resolve, reject } = this.waiting.get(id)!;
    this.waiting.delete(id);
    if (!error) return resolve(result);
    const { code, message, indeterminate } = error;
    reject(new DqError(code, message, { indeterminate }));
  }
}
