/**
 * Delayed jobs in tests, on a clock moved by the test. The only entry point that needs the package `@nestjs/testing`.
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
import { codecsOf, tubeName, type AsJson, type Tube } from '../api/tube.js';
import { KitCluster, type ScheduledJob } from './kit-cluster.js';
import { KitLedger } from './kit-ledger.js';
import { RunTally, type RunCounts } from './run-tally.js';

export type { RunCounts, ScheduledJob };

/** Options of a test kit. */
export interface DqTestKitOptions {
  /** Initial time. @default now, from fake timers if there are any */
  now?: When;
  /** Nodes per cluster, 1 to 16. @default 3 */
  nodes?: number;
  /**
   * How long, in real time, the kit waits for a run before its time moves on without it: for a handler that waits for its own
   * timeout, or forever. @default '2s'
   */
  patience?: Duration;
  /**
   * Tubes, of every cluster, whose jobs only check whether there is something to do, such as the series of an outbox. A poll that
   * has run since anything else ran doesn't stop the time: it is skipped until the next job of another tube, the end of the
   * advance, or a day, and then runs once. @default none
   */
  polls?: readonly (string | Tube<any>)[];
}

const MAX_NODES = 16;
const KNOWN = new Set(['now', 'nodes', 'patience', 'polls']);

/**
 * Embedded nodes, an in-memory ledger and a clock that stands still: under an application's own module, or alone for a unit test.
 * Everything else is real: producer, consumer, retries, dead letters. Handlers run only during `advance`, `advanceTo` and
 * `drain`.
 */
export class DqTestKit {
  /** For a kit of nest-kq, which then moves along with this one: `new KqTestKit({ dq })`. */
  readonly time: KitTime;
  private readonly nodes: number;
  private readonly tally = new RunTally((ofTube) =>
    Math.min(...Array.from(this.clusters.values(), (cluster) => cluster.nextChange(ofTube))),
  );
  /** Without a prefix. */
  private readonly polled: readonly string[];
  /** Ledgers of all applications not yet stopped. */
  private readonly ledgers = new Set<KitLedger>();
  /** By name; undefined is the unnamed cluster. */
  private readonly clusters = new Map<string | undefined, KitCluster>();
  private readonly asleep = new Set<number>();
  private readonly environment: Environment;
  private own: DqRuntime | undefined;
  private closed = false;

  /** Throws `DQ_BAD_OPTION`, `DQ_BAD_TIME` or `DQ_BAD_DURATION`. */
  constructor(options: DqTestKitOptions = {}) {
    refuseUnknown(options, KNOWN, 'test kit');
    const { now = present(), nodes = 3, patience = '2s', polls = [] } = options;
    if (!Number.isInteger(nodes) || nodes < 1 || nodes > MAX_NODES) {
      throw wrongValue('DQ_BAD_OPTION', '`nodes`', nodes, `1 to ${MAX_NODES}`);
    }
    if (!Array.isArray(polls)) {
      throw wrongValue('DQ_BAD_OPTION', '`polls`', polls, 'an array of tubes');
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
   * `beanstalks`, `tls`, `redis` and `embedded` are ignored. Modules under one kit act as processes on the same servers if their
   * clusters have the same name.
   */
  override(builder: TestingModuleBuilder): TestingModuleBuilder {
    return builder.overrideProvider(ENVIRONMENT).useValue(this.environment);
  }

  /** Producer for unit tests without Nest: on the unnamed cluster, with its `prefix` if a module has set it up. */
  get producer(): DqProducer {
    return this.runtime.producer;
  }

  /** Consumer for unit tests without Nest; see `producer`. */
  get consumer(): DqConsumer {
    return this.runtime.consumer;
  }

  /** Current time, as the module under test sees it. */
  get now(): Date {
    return new Date(this.time.clock.wall());
  }

  /**
   * Moves the clock, running everything that becomes due on the way, including retries. Resolves once all handlers have ended,
   * except those that take longer than `patience`. Fake timers of Jest and Vitest move along. `DQ_BAD_DURATION`, `DQ_CLOSED`;
   * `DQ_CONFIG` if no application uses this kit, or `init` was not called on one.
   */
  async advance(by: Duration): Promise<RunCounts> {
    const ms = parseDuration(by, 'the time to advance by');
    return this.go(() => this.time.clock.now() + ms);
  }

  /** Like `advance`, up to a given time. `DQ_PAST_TIME` if it is before `now`. */
  async advanceTo(when: When): Promise<RunCounts> {
    const instant = parseWhen(when, (given) => `advance(${given})`);
    return this.go(() => {
      const ms = instant - this.time.clock.wall();
      if (ms >= 0) return this.time.clock.now() + ms;
      const times = `${new Date(instant).toISOString()}, but it is ${this.now.toISOString()}`;
      throw new DqError('DQ_PAST_TIME', `the time to advance to is ${times}: expected a later time`);
    });
  }

  /** Runs everything due now. The clock stands still. */
  async drain(): Promise<RunCounts> {
    return this.go(() => this.time.clock.now());
  }

  /**
   * Returns the jobs of a tube that wait for their time, for a retry, or for `drain`, soonest first. `DQ_CONFIG` if no such
   * cluster uses this kit; `DQ_BAD_PAYLOAD` if a codec wrote a payload that the tube, as given, doesn't have.
   * @param cluster Name of the cluster. Default: the unnamed one.
   */
  scheduled<In = unknown, Kept = AsJson<In>>(
    tube: string | Tube<In, any, Kept>,
    cluster?: string,
  ): ScheduledJob<Kept>[] {
    this.checkUsed();
    const known = this.clusters.get(cluster);
    if (!known) {
      const names = [...this.clusters.keys()].map((each) => dqTokens.showCluster(each)).join(', ');
      throw new DqError(
        'DQ_CONFIG',
        `the cluster is ${dqTokens.showCluster(cluster)}: this kit has ${names}`,
      );
    }
    const jobs = known.scheduled(tubeName(tube, known.settings.prefix), codecsOf(tube));
    return jobs as ScheduledJob<Kept>[];
  }

  /** Makes a node unreachable in every cluster; it keeps its data. Indexes start at 0. Idempotent. */
  sleepNode(index: number): void {
    this.checkIndex(index);
    this.asleep.add(index);
    for (const { nodes } of this.clusters.values()) nodes[index]!.sleep();
  }

  /** Makes a node reachable again; it takes part within two seconds, in the kit's time. Idempotent. */
  wakeNode(index: number): void {
    this.checkIndex(index);
    this.asleep.delete(index);
    for (const { nodes } of this.clusters.values()) nodes[index]!.wake();
  }

  /** Stops everything; call after closing the application. Idempotent. */
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
      patience: 0, // a retry would wait for time that stands still
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
        'an application using this kit was not started, so none of its handlers would run: expected `await app.init()` first',
      );
    }
    this.tally.journey();
    for (const ledger of this.ledgers) ledger.letClaimsPass();
  }

  private hold(): void {
    for (const ledger of this.ledgers) ledger.holdClaims();
  }

  /** Without this check, a test would see that nothing runs, but not why. */
  private checkUsed(): void {
    if (this.clusters.size > 0) return;
    throw new DqError(
      'DQ_CONFIG',
      'no application uses this kit: expected `kit.override(Test.createTestingModule(…)).compile()` first, or the use of `kit.producer`',
    );
  }

  private checkIndex(index: number): void {
    if (Number.isInteger(index) && index >= 0 && index < this.nodes) return;
    throw wrongValue('DQ_BAD_OPTION', 'the node', index, `0 to ${this.nodes - 1}`);
  }
}
