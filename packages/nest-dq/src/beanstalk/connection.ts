import type { Duplex } from 'node:stream';
import type { Clock } from '../time/clock.js';
import { type Answer, answers, type Found, type PutReply, type Reserved } from './answers.js';
import { BeanstalkError } from './codec/beanstalk-error.js';
import { type Command, commands, type PutOptions } from './codec/commands.js';
import { type Done, Pipeline } from './pipeline.js';
import type { Stats } from './codec/yaml.js';

export type { Done, Found, PutOptions, PutReply, Reserved, Stats };

export interface ConnectionOptions {
  readonly clock: Clock;
  /** Milliseconds a command may wait for its reply once it is sent and all before it are answered. @default 500 */
  readonly deadline?: number;
  /** Called once, when all waiting commands have failed. */
  readonly onClose?: (reason: BeanstalkError) => void;
}

/**
 * One connection to one beanstalkd: every command of the protocol, in order, as many in flight as you like.
 *
 * Expected replies are values; BeanstalkError is for the rest. A bad argument, a call after the close and a body over
 * `maxJobSize` fail like a command that was refused: by the callback, later, and without harm to the others.
 * After BAD_FORMAT, UNKNOWN_COMMAND, EXPECTED_CRLF, BAD_REPLY, a missed deadline, or when the stream ends or fails,
 * it closes for good: the command at fault gets that error, all others that wait get CONNECTION_LOST. It never
 * reconnects.
 */
export class Connection {
  /** Bytes; a longer body is refused before it is sent. The server tells its own in `stats`, `max-job-size`. */
  maxJobSize = 65_535;

  private readonly pipeline: Pipeline;
  private readonly deadline: number;
  private used = 'default';

  /** The stream is the connection's own from now on; it may still be connecting. */
  constructor(stream: Duplex, options: ConnectionOptions) {
    this.deadline = options.deadline ?? 500;
    this.pipeline = new Pipeline(stream, { ...options, deadline: this.deadline });
  }

  get closed(): boolean {
    return this.pipeline.reason !== undefined;
  }

  /**
   * Idempotent. Waiting commands fail with CLOSED before it returns, and what this tick asked for is not sent any more;
   * the server makes ready what was reserved here.
   */
  close(): void {
    this.pipeline.close(new BeanstalkError('CLOSED', 'close() was called'));
  }

  /** Closes once all that was asked for before is answered; later calls fail with CLOSED. */
  quit(): void {
    this.pipeline.quit();
  }

  /** A promise for places where speed is no matter: `connection.ask((done) => connection.stats(done))`. */
  ask<T>(start: (done: Done<T>) => void): Promise<T> {
    return new Promise((resolve, reject) => {
      start((error, value) => (error === undefined ? resolve(value) : reject(error)));
    });
  }

  /**
   * DRAINING, JOB_TOO_BIG, OUT_OF_MEMORY and INTERNAL_ERROR: not stored. See also `unknown` of the error.
   * `front`: ASCII with which the body begins, for whoever would have to join the two, or has nothing else.
   */
  put(tube: string, rest: Uint8Array, options: PutOptions, done: Done<PutReply>, front = ''): void {
    const command = this.badBody(rest, front) ?? commands.put(options, front.length + rest.length);
    this.using(tube, command, answers.put, done, rest, front);
  }

  reserve(done: Done<Reserved | 'DEADLINE_SOON'>): void {
    this.pipeline.send(commands.reserve(), answers.reserve, done, Infinity);
  }

  reserveWithTimeout(seconds: number, done: Done<Reserved | 'TIMED_OUT' | 'DEADLINE_SOON'>): void {
    const allowance = this.deadline + seconds * 1_000;
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

  /** `put`, the peeks by state and `kick` do this by themselves. */
  use(tube: string, done: Done<string>): void {
    const command = commands.use(tube);
    if (typeof command === 'string') this.used = tube;
    this.pipeline.send(command, answers.use(tube), (error, name) => {
      // Its followers are under way, and would act on the tube that was used before.
      if (error !== undefined && error.code !== 'BAD_ARGUMENT') this.pipeline.close(error);
      done(error, name);
    });
  }

  /** The number of watched tubes. */
  watch(tube: string, done: Done<number>): void {
    this.pipeline.send(commands.watch(tube), answers.watch, done);
  }

  /** The number of watched tubes; NOT_IGNORED where it is the only one. */
  ignore(tube: string, done: Done<number>): void {
    this.pipeline.send(commands.ignore(tube), answers.watch, done);
  }

  peek(id: string, done: Done<Found | 'NOT_FOUND'>): void {
    this.pipeline.send(commands.peek(id), answers.peek, done);
  }

  /** The job that would be reserved next. */
  peekReady(tube: string, done: Done<Found | 'NOT_FOUND'>): void {
    this.using(tube, commands.peekReady(), answers.peek, done);
  }

  /** The delayed job with the shortest delay left. */
  peekDelayed(tube: string, done: Done<Found | 'NOT_FOUND'>): void {
    this.using(tube, commands.peekDelayed(), answers.peek, done);
  }

  /** The job that was buried first. */
  peekBuried(tube: string, done: Done<Found | 'NOT_FOUND'>): void {
    this.using(tube, commands.peekBuried(), answers.peek, done);
  }

  /** Makes ready up to `bound` buried jobs, or, if there are none, delayed ones; the number it was. */
  kick(tube: string, bound: number, done: Done<number>): void {
    this.using(tube, commands.kick(bound), answers.kick, done);
  }

  /** A buried or delayed job. */
  kickJob(id: string, done: Done<'KICKED' | 'NOT_FOUND'>): void {
    this.pipeline.send(commands.kickJob(id), answers.kickJob, done);
  }

  /** No reserves from the tube for `delay` whole seconds. */
  pauseTube(tube: string, delay: number, done: Done<'PAUSED' | 'NOT_FOUND'>): void {
    this.pipeline.send(commands.pauseTube(tube, delay), answers.pauseTube, done);
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

  listTubes(done: Done<string[]>): void {
    this.pipeline.send(commands.listTubes(), answers.tubes, done);
  }

  listTubesWatched(done: Done<string[]>): void {
    this.pipeline.send(commands.listTubesWatched(), answers.tubes, done);
  }

  listTubeUsed(done: Done<string>): void {
    this.pipeline.send(commands.listTubeUsed(), answers.tubeUsed, done);
  }

  /** A command that acts on the used tube. */
  private using<T>(
    tube: string,
    command: Command,
    answer: Answer<T>,
    done: Done<T>,
    rest?: Uint8Array,
    front?: string,
  ): void {
    if (typeof command === 'string' && tube !== this.used) {
      const use = commands.use(tube);
      if (typeof use !== 'string') return this.pipeline.send(use, answer, done);
      this.use(tube, ignored);
    }
    this.pipeline.send(command, answer, done, this.deadline, rest, front);
  }

  private badBody(rest: Uint8Array, front: string): BeanstalkError | undefined {
    if (!(rest instanceof Uint8Array)) {
      return new BeanstalkError('BAD_ARGUMENT', `the body is ${typeof rest}: expected a Buffer`);
    }
    const size = front.length + rest.length;
    if (size <= this.maxJobSize) return undefined;
    return new BeanstalkError(
      'JOB_TOO_BIG',
      `the body has ${size} bytes: expected at most ${this.maxJobSize}`,
    );
  }
}

/** The command behind it tells of the failure: it fails too. */
function ignored(): void {}
