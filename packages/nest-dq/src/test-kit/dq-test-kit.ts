/**
 * Delayed jobs in tests, on a clock that the test moves. It needs the package `@nestjs/testing`, which nothing else here does.
 * @module nest-dq/testing
 */
import type { TestingModuleBuilder } from '@nestjs/testing';
import type { Duration, When } from 'nest-handlers/time';
import { KitTime, present } from 'nest-handlers/testing';
import type { DqConsumer } from '../consumer/consumer.js';
import { DqError, wrongValue } from '../errors.js';
import { defaultLogger } from '../nest/default-logger.js';
import { ENVIRONMENT, type Backend, type Environment } from '../nest/environment.js';
import { resolveOptions, type ResolvedOptions } from '../nest/options.js';
import { DqRuntime } from '../nest/runtime.js';
import { dqTokens } from '../nest/tokens.js';
import type { DqProducer } from '../producer/producer.js';
import { refuseUnknown } from '../api/job-options.js';
import { parseDuration } from '../time/duration.js';
import { parseWhen } from '../time/instant.js';
import { tubeName, type AsJson, type Tube } from '../api/tube.js';
import { KitCluster, type ScheduledJob } from './kit-cluster.js';
import { KitLedger } from './kit-ledger.js';
import { RunTally, type RunCounts } from './run-tally.js';

export type { RunCounts, ScheduledJob };

/** How a test kit is made. */
export interface DqTestKitOptions {
  /** The time at the beginning. @default the present, by fake timers if there are any */
  now?: When;
  /** Nodes of each cluster, 1 to 16. @default 3 */
  nodes?: number;
  /**
   * How long, in real time, a run is waited for before the kit's time goes on without it: for a handler that waits for
   * its own timeout, or for ever. @default '2s'
   */
  patience?: Duration;
  /**
   * Tubes, of every cluster, whose jobs only look whether there is something to do, such as the series of an outbox. One
   * that has run since anything else ran does not stop the time: it is leapt over, up to the next job of another tube,
   * the end of the journey, or a day, and runs once then. @default none
   */
  polls?: readonly (string | Tube<any>)[];
}

const MOST_NODES = 16;
const KNOWN = new Set(['now', 'nodes', 'patience', 'polls']);

/**
 * Embedded nodes, a ledger in memory and a clock that stands still: under an application's own module, or alone for a
 * unit test. All the rest is real: producer, consumer, retries, dead letters. Handlers run only inside of
 * `advance`, `advanceTo` and `drain`.
 */
export class DqTestKit {
  /** For a kit of nest-kq, which then moves with this one: `new KqTestKit({ dq })`. */
  readonly time: KitTime;
  private readonly nodes: number;
  private readonly tally = new RunTally((ofTube) =>
    Math.min(...Array.from(this.clusters.values(), (cluster) => cluster.nextChange(ofTube))),
  );
  /** Without a prefix. */
  private readonly polled: readonly string[];
  /** Of each application that was not stopped. */
  private readonly ledgers = new Set<KitLedger>();
  /** By their names; undefined is that of the one without a name. */
  private readonly clusters = new Map<string | undefined, KitCluster>();
  private readonly asleep = new Set<number>();
  private readonly environment: Environment;
  private own: DqRuntime | undefined;
  private closed = false;

  /** `DQ_BAD_OPTION`, `DQ_BAD_TIME`, `DQ_BAD_DURATION`. */
  constructor(options: DqTestKitOptions = {}) {
    refuseUnknown(options, KNOWN, 'test kit');
    const { now = present(), nodes = 3, patience = '2s', polls = [] } = options;
    if (!Number.isInteger(nodes) || nodes < 1 || nodes > MOST_NODES) {
      throw wrongValue('DQ_BAD_OPTION', '`nodes`', nodes, `1 to ${MOST_NODES}`);
    }
    if (!Array.isArray(polls)) {
      throw wrongValue('DQ_BAD_OPTION', '`polls`', polls, 'a list of tubes');
    }
    this.nodes = nodes;
    this.polled = polls.map((tube: string | Tube) => tubeName(tube, ''));
    this.time = new KitTime(parseWhen(now), parseDuration(patience, '`patience`'));
    this.time.join({ work: this.tally, begin: () => this.letRun(), end: () => this.hold() });
    this.environment = {
      clock: this.time.clock,
      resolve: (...given) => this.resolve(...given),
      backend: (settings, name) => this.backend(settings, name),
    };
  }

  /**
   * Replaces the nodes, the ledger and the clock of every DqModule in the module under test; its other options stay, and
   * `beanstalks`, `tls`, `redis` and `embedded` are not looked at. Modules under one kit are processes on the same servers, as far
   * as their clusters have the same name.
   */
  override(builder: TestingModuleBuilder): TestingModuleBuilder {
    return builder.overrideProvider(ENVIRONMENT).useValue(this.environment);
  }

  /** For unit tests without Nest: on the cluster without a name, with that one's `prefix` if a module has set it up. */
  get producer(): DqProducer {
    return this.runtime.producer;
  }

  /** The same for handlers. */
  get consumer(): DqConsumer {
    return this.runtime.consumer;
  }

  /** The time as the module under test has it. */
  get now(): Date {
    return new Date(this.time.clock.wall());
  }

  /**
   * Moves the clock, running all that comes due on the way, retries too. Resolves when all handlers have ended, but for
   * those that take longer than `patience`. Fake timers of Jest and Vitest move along. `DQ_BAD_DURATION`, `DQ_CLOSED`;
   * `DQ_CONFIG`: no application uses this kit, or `init` was not called on one.
   */
  async advance(by: Duration): Promise<RunCounts> {
    const ms = parseDuration(by, 'the time to advance by');
    return this.go(() => this.time.clock.now() + ms);
  }

  /** The same up to an instant. `DQ_PAST_TIME`: it is before `now`. */
  async advanceTo(when: When): Promise<RunCounts> {
    const instant = parseWhen(when, (given) => `advance(${given})`);
    return this.go(() => {
      const ms = instant - this.time.clock.wall();
      if (ms >= 0) return this.time.clock.now() + ms;
      const times = `${new Date(instant).toISOString()}, and it is ${this.now.toISOString()}`;
      throw new DqError('DQ_PAST_TIME', `the time to advance to is ${times}: expected a later time`);
    });
  }

  /** Runs what is due now. The clock stands still. */
  async drain(): Promise<RunCounts> {
    return this.go(() => this.time.clock.now());
  }

  /**
   * The jobs of a tube that wait for their time, for a retry, or for `drain`; the soonest first. `DQ_CONFIG`: no such
   * cluster uses this kit.
   * @param cluster Its name. Default: the cluster without a name.
   */
  scheduled<In = unknown>(tube: string | Tube<In>, cluster?: string): ScheduledJob<AsJson<In>>[] {
    this.checkUsed();
    const known = this.clusters.get(cluster);
    if (!known) {
      const names = [...this.clusters.keys()].map((each) => dqTokens.showCluster(each)).join(', ');
      throw new DqError(
        'DQ_CONFIG',
        `the cluster is ${dqTokens.showCluster(cluster)}: this kit has ${names}`,
      );
    }
    return known.scheduled(tubeName(tube, known.settings.prefix)) as ScheduledJob<AsJson<In>>[];
  }

  /** A node is out of reach from now on, in every cluster, and keeps what it has. The first has the index 0. Idempotent. */
  sleepNode(index: number): void {
    this.checkIndex(index);
    this.asleep.add(index);
    for (const { nodes } of this.clusters.values()) nodes[index]!.sleep();
  }

  /** It is in reach again; it takes part two seconds later at most, by the kit's time. Idempotent. */
  wakeNode(index: number): void {
    this.checkIndex(index);
    this.asleep.delete(index);
    for (const { nodes } of this.clusters.values()) nodes[index]!.wake();
  }

  /** After the application was closed. Nothing runs any more. Idempotent. */
  async close(): Promise<void> {
    if (this.closed) return;
    await this.own?.stop();
    this.closed = true;
    await this.own?.close();
    for (const cluster of this.clusters.values()) cluster.close();
  }

  private get runtime(): DqRuntime {
    if (this.own) return this.own;
    const prefix = this.clusters.get(undefined)?.settings.prefix;
    const options = this.resolve({ prefix }, defaultLogger(), undefined);
    this.own = new DqRuntime(options, this.time.clock, this.backend(options, undefined));
    void this.own.open();
    this.own.start();
    this.own.consumer.start();
    return this.own;
  }

  private resolve(...[options, logger, name]: Parameters<Environment['resolve']>): ResolvedOptions {
    const { beanstalks: _nodes, tls: _wire, redis: _ledger, embedded: _folder, ...others } = options;
    const { replicas, minWritten, ...rest } = others;
    const fitting = {
      ...rest,
      patience: 0, // a call that is tried again would wait for time that stands still
      ...(replicas === undefined ? {} : { replicas: Math.min(replicas, this.nodes) }),
      ...(minWritten === undefined ? {} : { minWritten: Math.min(minWritten, replicas ?? 3, this.nodes) }),
    };
    return { ...resolveOptions(fitting, logger, name, this.nodes), advise: false };
  }

  private backend(settings: ResolvedOptions, name: string | undefined): Backend {
    let shared = this.clusters.get(name);
    if (!shared) {
      shared = new KitCluster(this.nodes, settings, this.time.clock);
      this.clusters.set(name, shared);
      for (const tube of this.polled) this.tally.addPoll(settings.prefix + tube);
      for (const index of this.asleep) shared.nodes[index]!.sleep();
    }
    const ledger = new KitLedger(shared.ledger, this.tally);
    this.ledgers.add(ledger);
    const { ledger: sharedLedger } = shared;
    const noLongerIdle = async () => void (ledger.isIdle = false);
    return {
      cluster: shared.reach(settings),
      ledger,
      fleet: shared.fleet,
      goQueueLocks: shared.goQueueLocks,
      waiting: shared.waiting,
      viewLedger: () => sharedLedger.view(),
      open: noLongerIdle,
      stopped: (stop) => this.stopped(stop, ledger),
      close: noLongerIdle,
    };
  }

  /** A drain may wait for time to pass, and only the kit moves it. Claims are answered, so that their runs are handed back. */
  private async stopped(stop: Promise<void>, ledger: KitLedger): Promise<void> {
    this.ledgers.delete(ledger);
    ledger.letClaimsPass();
    await this.time.until(stop);
    await stop;
  }

  private async go(end: () => number): Promise<RunCounts> {
    if (this.closed) throw new DqError('DQ_CLOSED', 'the test kit is closed');
    this.checkUsed();
    await this.time.go(end);
    return this.tally.take();
  }

  private letRun(): void {
    if ([...this.ledgers].some(({ isIdle }) => isIdle)) {
      throw new DqError(
        'DQ_CONFIG',
        'an application on this kit was not started, so none of its handlers would run: expected `await app.init()` before',
      );
    }
    this.tally.journey();
    for (const ledger of this.ledgers) ledger.letClaimsPass();
  }

  private hold(): void {
    for (const ledger of this.ledgers) ledger.holdClaims();
  }

  /** Without this check a test would see that nothing runs, but not why. */
  private checkUsed(): void {
    if (this.clusters.size > 0) return;
    throw new DqError(
      'DQ_CONFIG',
      'no application uses this kit: expected `kit.override(Test.createTestingModule(…)).compile()` before, or the use of `kit.producer`',
    );
  }

  private checkIndex(index: number): void {
    if (Number.isInteger(index) && index >= 0 && index < this.nodes) return;
    throw wrongValue('DQ_BAD_OPTION', 'the node', index, `0 to ${this.nodes - 1}`);
  }
}
