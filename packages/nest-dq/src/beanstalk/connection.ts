import type { Duplex } from 'node:stream';
import type { Clock } from 'nest-handlers/time';
import { answers, type Body, type Done, Pipeline, type PutReply, type Reserved, sizeOf } from './pipeline.js';
import { BeanstalkError } from './codec/beanstalk-error.js';
import { commands, type PutOptions } from './codec/commands.js';
import type { Stats } from './codec/yaml.js';

export type { Body, Done, PutOptions, PutReply, Reserved, Stats };

export interface ConnectionOptions {
  readonly clock: Clock;
  /** Milliseconds that a command may wait for its reply, once it was sent and all before it are answered. @default 500 */
  readonly deadline?: number;
  /** Called once, when all waiting commands have failed. */
  readonly onClose?: (reason: BeanstalkError) => void;
}

/**
 * One connection to one beanstalkd: the commands that we use, in order, as many in flight as you like.
 *
 * Expected replies are values; all other replies are a BeanstalkError. A bad argument, a call after the close and a body
 * over `maxJobSize` fail like a refused command: later, through the callback, and without harm to other commands.
 * The connection closes for good after BAD_FORMAT, UNKNOWN_COMMAND, EXPECTED_CRLF, BAD_REPLY, a missed deadline, or when
 * the stream ends or fails. Then the command at fault gets that error, and all others that wait get CONNECTION_LOST. It
 * never reconnects.
 */
export class Connection {
  /** Bytes. A longer body is refused before it is sent. The server tells its own limit in `stats`, as `max-job-size`. */
  maxJobSize = 65_535;

  private readonly pipeline: Pipeline;
  private used = 'default';

  /** From now on the stream belongs to the connection. It may still be connecting. */
  constructor(stream: Duplex, { clock, deadline = 500, onClose }: ConnectionOptions) {
    this.pipeline = new Pipeline(stream, clock, deadline, onClose);
  }

  get closed(): boolean {
    return this.pipeline.reason !== undefined;
  }

  /**
   * Idempotent. Waiting commands fail with CLOSED before it returns, and commands of this tick are not sent any more.
   * The server makes all jobs ready again that were reserved here.
   */
  close(): void {
    this.pipeline.close(new BeanstalkError('CLOSED', 'close() was called'));
  }

  /** Closes once all earlier commands are answered. Later calls fail with CLOSED. */
  quit(): void {
    this.pipeline.quit();
  }

  /** A promise for places where speed does not matter: `connection.ask((done) => connection.stats(done))`. */
  ask<T>(start: (done: Done<T>) => void): Promise<T> {
    return new Promise((resolve, reject) => {
      start((error, value) => (error === undefined ? resolve(value) : reject(error)));
    });
  }

  /** DRAINING, JOB_TOO_BIG, OUT_OF_MEMORY and INTERNAL_ERROR: not stored. See also `unknown` of the error. */
  put(tube: string, body: Body, options: PutOptions, done: Done<PutReply>): void {
    const size = sizeOf(body);
    const command = size > this.maxJobSize ? this.tooBig(size) : commands.put(options, size);
    if (typeof command === 'string' && tube !== this.used) {
      const use = commands.use(tube);
      if (typeof use !== 'string') return this.pipeline.send(use, answers.put, done);
      this.use(tube, use);
    }
    this.pipeline.send(command, answers.put, done, undefined, body);
  }

  reserveWithTimeout(seconds: number, done: Done<Reserved | 'TIMED_OUT' | 'DEADLINE_SOON'>): void {
    const allowance = this.pipeline.deadline + seconds * 1_000;
    this.pipeline.send(commands.reserveWithTimeout(seconds), answers.reserveWithTimeout, done, allowance);
  }

  /** A ready, delayed or buried job. */
  reserveJob(id: string, done: Done<Reserved | 'NOT_FOUND'>): void {
    this.pipeline.send(commands.reserveJob(id), answers.reserveJob, done);
  }

  /** A job that another connection has reserved is NOT_FOUND. */
  delete(id: string, done: Done<'DELETED' | 'NOT_FOUND'>): void {
    this.pipeline.send(commands.delete(id), answers.delete, done);
  }

  /** `delay` in whole seconds. BURIED: the server had no memory, or could not write its log. */
  release(
    id: string,
    priority: number,
    delay: number,
    done: Done<'RELEASED' | 'BURIED' | 'NOT_FOUND'>,
  ): void {
    this.pipeline.send(commands.release(id, priority, delay), answers.release, done);
  }

  bury(id: string, priority: number, done: Done<'BURIED' | 'NOT_FOUND'>): void {
    this.pipeline.send(commands.bury(id, priority), answers.bury, done);
  }

  touch(id: string, done: Done<'TOUCHED' | 'NOT_FOUND'>): void {
    this.pipeline.send(commands.touch(id), answers.touch, done);
  }

  /** The number of watched tubes. */
  watch(tube: string, done: Done<number>): void {
    this.pipeline.send(commands.watch(tube), answers.watch, done);
  }

  /** The number of watched tubes. NOT_IGNORED: it is the only one. */
  ignore(tube: string, done: Done<number>): void {
    this.pipeline.send(commands.ignore(tube), answers.watch, done);
  }

  peek(id: string, done: Done<Reserved | 'NOT_FOUND'>): void {
    this.pipeline.send(commands.peek(id), answers.peek, done);
  }

  /** Makes a buried or delayed job ready. */
  kickJob(id: string, done: Done<'KICKED' | 'NOT_FOUND'>): void {
    this.pipeline.send(commands.kickJob(id), answers.kickJob, done);
  }

  /** `deadline` in milliseconds: a server that reads its log answers nothing for seconds. @default the connection's */
  stats(done: Done<Stats>, deadline?: number): void {
    this.pipeline.send(commands.stats(), answers.stats, done, deadline);
  }

  statsJob(id: string, done: Done<Stats | 'NOT_FOUND'>): void {
    this.pipeline.send(commands.statsJob(id), answers.statsOrNotFound, done);
  }

  statsTube(tube: string, done: Done<Stats | 'NOT_FOUND'>): void {
    this.pipeline.send(commands.statsTube(tube), answers.statsOrNotFound, done);
  }

  /** The names of all tubes that the server has now, of all prefixes. */
  listTubes(done: Done<string[]>): void {
    this.pipeline.send(commands.listTubes(), answers.names, done);
  }

  /** Where it fails, the put behind it fails too and tells its caller. */
  private use(tube: string, command: string): void {
    this.used = tube;
    this.pipeline.send(command, answers.use(tube), (error) => {
      // The puts behind it are under way, and would go to the tube that was used before.
      if (error !== undefined) this.pipeline.close(error);
    });
  }

  private tooBig(size: number): BeanstalkError {
    const fact = `the body has ${size} bytes: expected at most ${this.maxJobSize}`;
    return new BeanstalkError('JOB_TOO_BIG', fact);
  }
}
