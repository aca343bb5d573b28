/**
 * Streams of messages in tests, on a clock moved by the test. Only this entry point requires the package `@nestjs/testing`.
 * @module nest-kq/testing
 */
import type { TestingModuleBuilder } from '@nestjs/testing';
import { KitTime, present } from 'nest-handlers/testing';
import { readWhen, type Duration, type When } from 'nest-handlers/time';
import { checkOptions, milliseconds, wholeNumber } from '../api/checks.js';
import type { Topic } from '../api/topic.js';
import type { LogDriver } from '../driver/driver.js';
import { KqError, show } from '../errors.js';
import { ENVIRONMENT, driverLog, type Environment } from '../nest/environment.js';
import { resolveOptions, type KqOptions, type ResolvedOptions } from '../nest/options.js';
import { KqRuntime } from '../nest/runtime.js';
import { kqTokens } from '../nest/tokens.js';
import type { KqPusher } from '../pusher/pusher.js';
import { KitLog, type StoredMessage } from './kit-log.js';
import { MessageTally, type MessageCounts } from './message-tally.js';

export type { MessageCounts, StoredMessage };

/** Options of the test kit. */
export interface KqTestKitOptions {
  /** The nest-dq kit of the same application: both then share one time, and moving one moves the other. @default none */
  dq?: { readonly time: KitTime };
  /** Start time; that of the kit `dq` if given. @default the present, from fake timers if there are any */
  now?: When;
  /**
   * How long, in real time, to wait for a run before the kit's time moves on without it; that of the kit `dq` if given.
   * @default '2s'
   */
  patience?: Duration;
  /** Partitions of each topic, 1 to 1,000. @default 4 */
  partitions?: number;
}

const NAMES: readonly string[] = [
  'dq',
  'now',
  'patience',
  'partitions',
] satisfies readonly (keyof KqTestKitOptions)[];

/**
 * A log in memory and a clock that stands still, under an application's own module or standalone for a unit test. Everything
 * else is real: pusher, consumer, retries, dead letters. Each topic exists once it is named. Handlers run only during `run`,
 * `advance` and `advanceTo`, and during those calls of the kit `dq`.
 */
export class KqTestKit {
  private readonly time: KitTime;
  private readonly partitions: number;
  private readonly tally = new MessageTally();
  /** By cluster name; undefined for the cluster without a name. */
  private readonly logs = new Map<string | undefined, KitLog>();
  /** Applications compiled, but neither initialized nor closed. */
  private readonly idle = new Set<ResolvedOptions>();
  private readonly environment: Environment;
  private own: KqRuntime | undefined;
  private closed = false;

  /** Creates a kit; throws `KQ_BAD_OPTION`. */
  constructor(options: KqTestKitOptions = {}) {
    checkOptions('KQ_BAD_OPTION', 'the test kit', options, NAMES);
    const { dq, now, patience, partitions = 4 } = options;
    if (dq && (now !== undefined || patience !== undefined)) {
      const trouble = '`now` and `patience` do not combine with `dq`';
      throw new KqError('KQ_BAD_OPTION', `${trouble}: set them in the kit of nest-dq, which owns the clock`);
    }
    this.partitions = wholeNumber('KQ_BAD_OPTION', '`partitions`', partitions, 1, 1_000);
    this.time = dq
      ? timeOf(dq)
      : new KitTime(
          instant('`now`', now ?? present()),
          milliseconds('KQ_BAD_OPTION', '`patience`', patience ?? '2s', 0, 3_600_000),
        );
    this.time.join({ work: this.tally, begin: () => this.letRun(), end: () => this.hold() });
    this.environment = {
      clock: this.time.clock,
      resolve: (given, name) => this.resolve(given, name),
      driver: (settings, name) => this.driver(settings, name),
      stopped: async (stop) => {
        await this.time.until(stop);
        await stop;
      },
    };
  }

  /**
   * Replaces the brokers and the clock of every KqModule in the module under test; other options stay, and broker options are
   * ignored. Modules under one kit act as processes on the same brokers if their clusters have the same name.
   */
  override(builder: TestingModuleBuilder): TestingModuleBuilder {
    return builder.overrideProvider(ENVIRONMENT).useValue(this.environment);
  }

  /** A pusher on the cluster without a name, for the test itself or for a class tested without Nest. */
  get pusher(): KqPusher {
    if (!this.own) {
      const settings = this.resolve({}, undefined);
      this.own = new KqRuntime(settings, this.environment, this.driver(settings));
      this.own.start();
    }
    return this.own.pusher;
  }

  /** The time seen by the module under test. */
  get now(): Date {
    return new Date(this.time.clock.wall());
  }

  /**
   * Handles everything that can be handled now; the clock stands still. Resolves when all handlers have ended, except those that
   * take longer than `patience`. `KQ_CLOSED`; `KQ_CONFIG`: no application uses this kit, or `init` wasn't called on one.
   */
  async run(): Promise<MessageCounts> {
    return this.go(() => this.time.clock.now());
  }

  /**
   * Like `run`, and moves the clock, running everything that comes due: retries, incomplete batches, commits. Fake timers of
   * Jest and Vitest move along. Also `KQ_BAD_OPTION`: not a duration.
   */
  async advance(by: Duration): Promise<MessageCounts> {
    const ms = milliseconds('KQ_BAD_OPTION', 'the time to advance by', by, 0, Infinity);
    return this.go(() => this.time.clock.now() + ms);
  }

  /** Like `advance`, up to a point in time. `KQ_BAD_OPTION`: not a time, or before `now`. */
  async advanceTo(when: When): Promise<MessageCounts> {
    const to = instant('the time to advance to', when);
    return this.go(() => {
      const ms = to - this.time.clock.wall();
      if (ms >= 0) return this.time.clock.now() + ms;
      const times = `${new Date(to).toISOString()}, but it is ${this.now.toISOString()}`;
      throw new KqError('KQ_BAD_OPTION', `the time to advance to is ${times}: expected a later time`);
    });
  }

  /**
   * Returns the messages of a topic, handled or not, in the order they were pushed; those of transactions once committed.
   * `KQ_CONFIG`: no such cluster uses this kit. `KQ_BAD_MESSAGE`: a message isn't in the topic's format.
   * @param cluster Cluster name. Default: the cluster without a name.
   */
  messages<In = unknown>(topic: string | Topic<In>, cluster?: string): StoredMessage<In>[] {
    this.checkUsed();
    const log = this.logs.get(cluster);
    if (log) return log.messages(topic) as StoredMessage<In>[];
    const names = [...this.logs.keys()].map((each) => kqTokens.showCluster(each)).join(', ');
    throw new KqError('KQ_CONFIG', `the cluster is ${kqTokens.showCluster(cluster)}: this kit has ${names}`);
  }

  /** Call after the application is closed. Nothing runs any more. Idempotent. */
  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    await this.own?.close();
  }

  private resolve(options: KqOptions, name: string | undefined): ResolvedOptions {
    const { brokers, ssl: _ssl, sasl: _sasl, driver: _driver, ...rest } = options;
    const settings = resolveOptions({ ...rest, brokers: 'memory' }, name);
    const app: ResolvedOptions = {
      ...settings,
      // In memory a handler needs no group; the application's own brokers would require one.
      group: Array.isArray(brokers) ? options.group : settings.group,
      hooks: [this.tally.hooks(() => this.idle.delete(app)), ...settings.hooks],
    };
    this.idle.add(app);
    return app;
  }

  private driver(settings: ResolvedOptions, name?: string): LogDriver {
    return this.logOf(name, settings).reach(() => this.idle.delete(settings));
  }

  private logOf(name: string | undefined, { logger }: ResolvedOptions): KitLog {
    const log = this.logs.get(name) ?? new KitLog(this.time.clock, this.partitions, driverLog(logger));
    this.logs.set(name, log);
    return log;
  }

  private async go(end: () => number): Promise<MessageCounts> {
    if (this.closed) throw new KqError('KQ_CLOSED', 'the test kit is closed');
    this.checkUsed();
    await this.time.go(end);
    return this.tally.take();
  }

  private letRun(): void {
    if (this.idle.size > 0) {
      throw new KqError(
        'KQ_CONFIG',
        'an application on this kit was not started, so none of its handlers would run: call `await app.init()` first',
      );
    }
    for (const log of this.logs.values()) log.letRun();
  }

  private hold(): void {
    for (const log of this.logs.values()) log.hold();
  }

  /** Without this check a test would see that nothing runs, but not why. */
  private checkUsed(): void {
    if (this.logs.size > 0) return;
    throw new KqError(
      'KQ_CONFIG',
      'no application uses this kit: call `kit.override(Test.createTestingModule(…)).compile()` first, or use `kit.pusher`',
    );
  }
}

function timeOf(dq: { readonly time?: unknown }): KitTime {
  // Checked by shape: an application may load two builds of a package.
  if (typeof (dq.time as Partial<KitTime> | undefined)?.join === 'function') return dq.time as KitTime;
  throw new KqError('KQ_BAD_OPTION', `\`dq\` is ${show(dq)}: expected a DqTestKit of nest-dq/testing`);
}

function instant(what: string, when: When): number {
  const read = readWhen(when);
  if (typeof read === 'number') return read;
  throw new KqError('KQ_BAD_OPTION', `${what} is ${show(when)}: ${read}`);
}
