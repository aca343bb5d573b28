import type { Duplex } from 'node:stream';
import type { Clock } from 'nest-handlers/time';
import { answers, type Body, type Done, Pipeline, type PutReply, type Reserved, sizeOf } from './pipeline.js';
import { BeanstalkError } from './codec/beanstalk-error.js';
import { commands, type PutOptions } from './codec/commands.js';
import type { Stats } from './codec/yaml.js';

export type { Body, Done, PutOptions, PutReply, Reserved, Stats };

export interface ConnectionOptions {
  readonly clock: Clock;
  /** Time limit for a command's reply, in ms, once it was sent and all before it are answered. @default 500 */
  readonly deadline?: number;
  /** Called once, after all pending commands have failed. */
  readonly onClose?: (reason: BeanstalkError) => void;
}

/**
 * One connection to one beanstalkd: the commands we use, in order, with any number in flight.
 *
 * Expected replies are values; all others are a BeanstalkError. An invalid argument, a call after close and a body over
 * `maxJobSize` fail like a refused command: asynchronously, through the callback, and without affecting other commands. The
 * connection closes for good after BAD_FORMAT, UNKNOWN_COMMAND, EXPECTED_CRLF, BAD_REPLY, a missed deadline, or when the stream
 * ends or fails. The command at fault then gets that error, and all other pending ones get CONNECTION_LOST. It never reconnects.
 */
export class Connection {
  /** Max body size, in bytes. A larger body is refused before it is sent. The server's own limit is in `stats`, as `max-job-size`. */
  maxJobSize = 65_535;

  private readonly pipeline: Pipeline;
  private used = 'default';

  /** Takes ownership of the stream, which may still be connecting. */
  constructor(stream: Duplex, { clock, deadline = 500, onClose }: ConnectionOptions) {
    this.pipeline = new Pipeline(stream, clock, deadline, onClose);
  }

  get closed(): boolean {
    return this.pipeline.reason !== undefined;
  }

  /**
   * Closes at once. Idempotent. Pending commands fail with CLOSED before it returns, and commands of this tick are not sent. The
   * server makes all jobs reserved here ready again.
   */
  close(): void {
    this.pipeline.close(new BeanstalkError('CLOSED', 'close() was called'));
  }

  /** Closes once all earlier commands are answered. Later calls fail with CLOSED. */
  quit(): void {
    this.pipeline.quit();
  }

  /** Promise wrapper for when speed doesn't matter: `connection.ask((done) => connection.stats(done))`. */
  ask<T>(start: (done: Done<T>) => void): Promise<T> {
    return new Promise((resolve, reject) => {
      start((error, value) => (error === undefined ? resolve(value) : reject(error)));
    });
  }

  /** Stores a job. DRAINING, JOB_TOO_BIG, OUT_OF_MEMORY and INTERNAL_ERROR: not stored. See also `unknown` of the error. */
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

  /** Reserves a ready, delayed or buried job. */
  reserveJob(id: string, done: Done<Reserved | 'NOT_FOUND'>): void {
    this.pipeline.send(commands.reserveJob(id), answers.reserveJob, done);
  }

  /** Deletes a job. NOT_FOUND also if another connection has reserved it. */
  delete(id: string, done: Done<'DELETED' | 'NOT_FOUND'>): void {
    this.pipeline.send(commands.delete(id), answers.delete, done);
  }

  /** Releases a job; `delay` in whole seconds. BURIED: the server had no memory, or could not write its log. */
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

  /** Watches a tube. Calls back with the number of watched tubes. */
  watch(tube: string, done: Done<number>): void {
    this.pipeline.send(commands.watch(tube), answers.watch, done);
  }

  /** Stops watching a tube. Calls back with the number of watched tubes. NOT_IGNORED: it is the only one. */
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

  /** `deadline` in ms: a server reading its log doesn't answer for seconds. @default the connection's */
  stats(done: Done<Stats>, deadline?: number): void {
    this.pipeline.send(commands.stats(), answers.stats, done, deadline);
  }

  statsJob(id: string, done: Done<Stats | 'NOT_FOUND'>): void {
    this.pipeline.send(commands.statsJob(id), answers.statsOrNotFound, done);
  }

  statsTube(tube: string, done: Done<Stats | 'NOT_FOUND'>): void {
    this.pipeline.send(commands.statsTube(tube), answers.statsOrNotFound, done);
  }

  /** Lists all tubes on the server now, with any prefix. */
  listTubes(done: Done<string[]>): void {
    this.pipeline.send(commands.listTubes(), answers.names, done);
  }

  /** If it fails, the put after it fails too and reports it to its caller. */
  private use(tube: string, command: string): void {
    this.used = tube;
    this.pipeline.send(command, answers.use(tube), (error) => {
      // The puts after it are in flight, and would go to the previously used tube.
      if (error !== undefined) this.pipeline.close(error);
    });
  }

  private tooBig(size: number): BeanstalkError {
    const fact = `the body has ${size} bytes: expected at most ${this.maxJobSize}`;
    return new BeanstalkError('JOB_TOO_BIG', fact);
  }
}
