import type { HandlerMethod, JobRef } from '../api/job.js';
import { TubeWires } from '../api/tube.js';
import { Admission, otherLedgerError } from '../cluster/admission.js';
import type { NodeListener } from '../cluster/cluster-node.js';
import { ClusterConsumer } from '../consumer/consumer.js';
import { DqError, show, toError } from '../errors.js';
import { EventHub } from '../events/event-hub.js';
import { GoQueueJobs } from '../go-queue/go-queue-jobs.js';
import { GoQueueTubes } from '../go-queue/go-queue-runs.js';
import { ClusterHealth } from '../health/health.js';
import { SettleQueue } from '../ledger/settle-queue.js';
import {
  scheduleHook,
  handlerHook,
  type DqHooks,
  type DqLoad,
  type DqRedisMemory,
  type DqSeriesState,
} from '../events/hooks.js';
import type { RedisView } from '../ledger/ledger-view.js';
import { actOnJob } from '../operate/act.js';
import { ActWriter } from '../fleet/act-writer.js';
import { ClusterEvents } from '../fleet/cluster-events.js';
import { ClusterControl } from '../operate/control.js';
import { HistoryWriter } from '../fleet/history-writer.js';
import { SeriesRunWriter } from '../fleet/series-run-writer.js';
import { ClusterSeries } from '../operate/dq-series.js';
import { ClusterInspector } from '../operate/inspector.js';
import type { SeriesView } from '../operate/series-view.js';
import { LetterSweeper } from '../upkeep/letter-sweeper.js';
import { LostJobs } from '../upkeep/lost-jobs.js';
import { SelfRepair } from '../upkeep/self-repair.js';
import { ThisProcess } from '../fleet/this-process.js';
import { unconsumedTubes } from '../operate/tube-view.js';
import { TubeWatch } from '../upkeep/tube-watch.js';
import { UnconsumedTubes } from '../upkeep/unconsumed-tubes.js';
import { ClusterDeadLetters } from '../producer/dead-letters.js';
import { ClusterProducer } from '../producer/cluster-producer.js';
import { ProducerContext, type Adopt } from '../producer/producer-context.js';
import { isOccurrence, SeriesKeeper, nameInKey } from '../recurring/series-keeper.js';
import { SeriesScheduler } from '../recurring/series-scheduler.js';
import { KeyCheck } from '../seal/key-check.js';
import { KeyFetcher } from '../seal/key-fetcher.js';
import { otherBytesError } from '../seal/seal.js';
import type { Clock } from 'nest-handlers/time';
import type { Backend } from './environment.js';
import { LogReport } from './log-report.js';
import type { ResolvedOptions } from './options.js';

/** How long startup waits for the nodes' first answers. */
const FIRST_ANSWERS_MS = 500;

/** A background duty of a process. */
interface Duty {
  /** Idempotent. Does nothing after `close`. */
  start(): unknown;
  /** Idempotent; may be called before `start`. */
  close(): void | Promise<void>;
}

/** All parts of one cluster in one application. The constructor wires them up but opens nothing. */
export class DqRuntime {
  readonly producer: ClusterProducer;
  readonly consumer: ClusterConsumer;
  readonly deadLetters: ClusterDeadLetters;
  readonly inspector: ClusterInspector;
  readonly control: ClusterControl;
  /** Series of the `@Recurring` methods. */
  readonly declaredSeries: SeriesScheduler;
  /** Series made at run time. */
  readonly series: ClusterSeries;
  readonly events: EventHub;
  readonly health: ClusterHealth;

  /** This process, as one of the fleet. */
  readonly process: ThisProcess;

  /** Undefined if no other process can have another ledger. */
  private readonly admission: Admission | undefined;
  private readonly tubeWatch: TubeWatch;
  /** Undefined if there is nothing to repair, or repair is off. */
  private readonly selfRepair: SelfRepair | undefined;
  /** Undefined if waiting jobs are listed from their copies: a listed job then has copies. */
  private readonly lostJobs: LostJobs | undefined;
  private readonly upkeep: readonly Duty[];
  private readonly historyWriter: HistoryWriter;
  readonly actWriter: ActWriter;
  /** Undefined if they are off. */
  private readonly clusterEvents: ClusterEvents | undefined;
  /** Started once the process has series. */
  readonly seriesRunWriter: SeriesRunWriter;
  private readonly settleQueue: SettleQueue;
  /** Undefined if the seal's keys were given directly, or there is no seal. */
  private readonly sealKeys: KeyFetcher | undefined;
  /** Undefined if there is no seal, or no other process. */
  private readonly keyCheck: KeyCheck | undefined;
  private readonly hooksToStart: DqHooks[];
  private readonly unhook: (() => void)[] = [];
  private ledgerUp = true;
  private started = false;
  private closing: Promise<void> | undefined;

  constructor(
    readonly options: ResolvedOptions,
    readonly clock: Clock,
    private readonly backend: Backend,
    /** Name of the cluster. */
    readonly name?: string,
  ) {
    const { cluster, ledger, waiting, fleet } = backend;
    const { hooks, logger, seal, servers, advise } = options;
    const warn = (message: string) => void logger.warn(message);
    const log = (message: string) => void logger.log(message);
    const report = new LogReport(logger, options.logLevels, clock, servers !== undefined && advise);
    const listenerFailed = (who: string, error: Error) => report.listenerFailed(who, error);
    const { lateAfter, clusterEvents } = options;
    const events = (this.events = new EventHub({ lateAfter, listenerFailed, clusterEvents }));
    this.hooksToStart = [...hooks];

    // ── which servers and keys the processes share ──
    this.keyCheck = this.createKeyCheck();
    this.admission = this.createAdmission(report);
    const renewed = () => this.admission?.lookNow();
    const source = seal?.settings.source;
    this.sealKeys = seal && source && new KeyFetcher(seal, source, clock, warn, renewed);
    this.listenToServers(report);

    // ── adding and running jobs ──
    const settleQueue = (this.settleQueue = new SettleQueue(ledger, clock, cluster.nodes, options));
    const { goQueueLocks } = backend;
    const wires = new TubeWires();
    const adopt: Adopt = (tube, copy, as) => this.producer.adopt(tube, copy, as);
    const parts = { cluster, ledger, settleQueue, clock, events };
    const producing = { ...parts, adopt, waiting, settings: options, onSchedule: scheduleHook(hooks) };
    const context = new ProducerContext(producing);
    const foreignJobs = new GoQueueJobs(context, wires, goQueueLocks);
    const producer = (this.producer = new ClusterProducer(context, foreignJobs));
    const deadLetters = (this.deadLetters = new ClusterDeadLetters(context));
    const declared = (this.declaredSeries = new SeriesScheduler({ events, clock, trouble: warn }));
    const { presence, history, acts, seriesRuns, seriesPlans } = fleet;
    const { prefix } = options;
    const used = () => this.seriesRunWriter.start();
    const planning = { plans: seriesPlans, producer, events, clock, warn, prefix, used };
    const keeper = new SeriesKeeper(planning);
    this.series = new ClusterSeries({ ...planning, keeper, presence, settings: options });
    const { admission } = this;
    const hook = handlerHook(hooks);
    const around = (handler: HandlerMethod) => {
      const recurring = runsSeries(handler, declared, keeper);
      return hook ? hook(recurring) : recurring;
    };
    const sharedTubes = new GoQueueTubes(wires, goQueueLocks, adopt);
    const consumer = { ...parts, sharedTubes, report, admission, around, stopped: backend.stopped };
    this.consumer = new ClusterConsumer(options, consumer);

    // ── the fleet ──
    this.historyWriter = new HistoryWriter(events.tally, history, clock);
    const isSecret = seal?.settings.encrypt === true;
    this.actWriter = new ActWriter({ events, acts, clock, warn, hidesKeys: isSecret });
    const { keepErrors } = options;
    const telling = { events, log: fleet.eventLog, clock, warn, keepErrors, isSecret };
    this.clusterEvents = clusterEvents ? new ClusterEvents(telling) : undefined;
    this.seriesRunWriter = new SeriesRunWriter({
      events,
      runs: seriesRuns,
      clock,
      warn,
      keepErrors: options.keepErrors,
      planOf: (job) => declared.of(job)?.plan,
      plans: seriesPlans,
      nameOf: ({ key }) => nameInKey(key),
    });
    this.process = new ThisProcess({
      presence,
      cluster,
      clock,
      settings: options,
      name,
      load: () =>
        this.consumer.load().map((load) => {
          const plan = declared.planOf(load.tube);
          return plan === undefined ? load : { ...load, plan };
        }),
      counts: () => ({
        lost: this.lostJobs?.found?.count ?? 0,
        unlisted: context.index?.unlisted ?? 0,
        toRepair: this.toRepair,
      }),
      relimit: (changes) => this.consumer.relimit(changes),
      warn,
      wasElected: () => this.selfRepair?.lookAtAll(),
      hasGivenUp: () => this.selfRepair?.hasGivenUp === true,
    });

    // ── operating ──
    const { viewLedger } = backend;
    const looking = {
      ...producing,
      viewLedger,
      producer,
      deadLetters,
      series: declared,
      planned: this.series,
      presence,
      history,
      acts,
      seriesRuns,
    };
    this.inspector = new ClusterInspector(looking);
    this.control = new ClusterControl(context, { producer, presence });

    // ── background duties ──
    const elected = () => this.process.elected;
    const lookAround = async () => {
      const [{ tubes }, { servers }, found] = await Promise.all([
        this.inspector.tubes(),
        viewLedger(),
        this.inspector.seriesStates().catch(() => undefined), // reported as the ledger being away
      ]);
      return { tubes, redis: servers, series: found };
    };
    this.tubeWatch = new TubeWatch({ clock, elected, look: lookAround });
    const { retentions } = this.consumer;
    const reporting = { ...parts, report };
    const letterSweeper = new LetterSweeper(options.prefix, reporting, retentions);
    const consumed = () => retentions.keys();
    this.lostJobs = waiting.complete ? undefined : new LostJobs(options.prefix, reporting, waiting, consumed);
    const repairs = options.repair && options.mostIndexed > 0 && options.replicas > 1;
    this.selfRepair = repairs ? new SelfRepair(context, { elected, log, warn }) : undefined;
    const look = () => unconsumedTubes(looking);
    const unconsumed = advise ? new UnconsumedTubes({ clock, elected, look, warn }) : undefined;
    const duties = [
      admission,
      unconsumed,
      this.selfRepair,
      letterSweeper,
      this.lostJobs,
      this.sealKeys,
      keeper,
    ];
    this.upkeep = duties.filter((duty) => duty !== undefined);

    this.health = new ClusterHealth(
      cluster,
      backend.askRedis,
      () => this.process.unequalSettings,
      () => this.lostJobs?.found,
      () => this.admission,
      () => this.selfRepair?.unreadable,
      () => seal?.refused ?? [],
    );
  }

  private createKeyCheck(): KeyCheck | undefined {
    const { seal, logger } = this.options;
    const { keyPrints: prints } = this.backend.ledger;
    if (!seal || !prints) return undefined;
    return new KeyCheck({
      seal,
      // A CLI command never starts the runtime, so it only peeks.
      read: (own) => (this.started ? prints.store(own) : prints.peek(own)),
      peek: (own) => prints.peek(own),
      clock: this.clock,
      log: (message) => void logger.log(message),
      error: (message) => void logger.error(message),
    });
  }

  private createAdmission(report: LogReport): Admission | undefined {
    const { options, clock } = this;
    const { cluster, ledger } = this.backend;
    const { identity } = ledger;
    if (!identity) return undefined;
    const admission = new Admission({
      cluster,
      clock,
      // Checks the keys in the same rounds: after each start and reconnection, and so soon after Redis lost its data.
      identify: async (known) => {
        // A CLI command must leave nothing in Redis.
        const id = this.started ? await identity.read(known) : ((await identity.peek()) ?? known);
        await this.keyCheck?.look();
        return id;
      },
      isUnknown: async () => this.started && (await identity.peek()) === undefined,
      ...options,
    });
    admission.listen({
      admitted: () => {
        identity.refuse(undefined);
        report.admitted();
      },
      refused: (other) => {
        identity.refuse(() => otherLedgerError(other));
        report.refused(other);
      },
      shared: (other) => report.shared(other),
      unidentified: (error) => this.ledgerUp && report.unidentified(error),
    });
    return admission;
  }

  private listenToServers(report: LogReport): void {
    const { cluster, ledger } = this.backend;
    for (const node of cluster.nodes) {
      node.listen(report);
      node.listen(nodeEvents(this.events));
    }
    ledger.listen(report);
    ledger.listen({
      away: () => {
        this.ledgerUp = false;
        this.admission?.ledgerAway(this.now());
      },
      back: () => {
        this.ledgerUp = true;
        this.admission?.ledgerAway(undefined);
      },
    });
  }

  /** Fetches the seal's keys; call before adding anything. Idempotent. `DQ_CONFIG`. */
  async loadKeys(): Promise<void> {
    await this.sealKeys?.load();
  }

  /** Opens the job store; must be called first. `DQ_DISK`, `DQ_CONFIG`. */
  async open(): Promise<void> {
    await this.loadKeys();
    await this.backend.open();
  }

  /** Connects in the background and keeps retrying. Idempotent. Throws what a hook throws, before anything connects. */
  start(): void {
    for (const hook of this.hooksToStart.splice(0)) {
      const stop = hook.onStart?.({
        name: this.name,
        events: this.events,
        load: () => this.load(),
        allTubes: () => this.tubeWatch.tubes(),
        allSeries: () => this.tubeWatch.series()?.map((each) => this.stateOf(each)),
        redisMemory: () => this.tubeWatch.redis()?.flatMap(memoryOf),
      });
      if (stop) this.unhook.push(stop);
    }
    this.started = true;
    this.backend.cluster.start();
    this.backend.ledger.start();
    this.settleQueue.start();
    for (const duty of this.upkeep) void duty.start();
    this.process.start();
    this.historyWriter.start();
    this.clusterEvents?.start();
  }

  /**
   * Rejects with `DQ_CONFIG` if the first answers show that two nodes are one server. Call after `start`. If it only shows later,
   * it is logged and one of them gets no copies.
   */
  async refuseTwins(): Promise<void> {
    const { cluster } = this.backend;
    await cluster.firstAnswers(this.clock, FIRST_ANSWERS_MS);
    for (const { endpoint, twin } of cluster.nodes) {
      if (!twin) continue;
      const [one, other] = [show(twin.endpoint), show(endpoint)];
      throw new DqError(
        'DQ_CONFIG',
        `\`beanstalks\` has ${one} and ${other}, which are the same server: expected each server once`,
      );
    }
  }

  /**
   * Resolves once it is known, as far as servers answer, whether the other processes use the same ledger. Call after `start`, or
   * instead of it to stay invisible. Never rejects.
   */
  async lookForOtherLedger(): Promise<void> {
    await this.admission?.start();
  }

  /**
   * Throws `DQ_CONFIG` if other processes have different bytes under the name of a seal key, as far as Redis answered. Call after
   * `lookForOtherLedger`.
   */
  refuseOtherKeys(): void {
    const refused = this.options.seal?.refused ?? [];
    if (refused.length > 0) throw otherBytesError(refused);
  }

  /** Returns the ledger time in ms; see `Ledger.now`. */
  now(): number {
    return this.backend.ledger.now();
  }

  /** Drains the consumer. Idempotent. */
  stop(): Promise<void> {
    return this.consumer.stop();
  }

  /**
   * Closes everything, after `stop`. Idempotent; may be called before `open` and `start`. A part that fails to close is logged,
   * and the rest is still closed.
   */
  close(): Promise<void> {
    return (this.closing ??= this.end());
  }

  /**
   * Performs an operator's action on one job, using the producer or the dead letters, and records it like an action of
   * `DqControl`; code that calls those directly isn't an operator. `changed`: the results that mean the job was changed.
   * Rejects as `work` does.
   */
  actOnJob<Result>(
    name: string,
    ref: JobRef,
    by: string | undefined,
    changed: Result | readonly Result[],
    work: () => Promise<Result>,
  ): Promise<Result> {
    const { events, options: settings } = this;
    return actOnJob({ events, settings }, name, ref, by, changed, work);
  }

  private load(): DqLoad {
    const { nodes, settings } = this.backend.cluster;
    return {
      nodes: Object.fromEntries(
        nodes.map(({ endpoint, up, reason }) => [endpoint, { up, well: reason === 'up' }]),
      ),
      nodesNeeded: settings.minWritten,
      ledgerUp: this.ledgerUp,
      elected: this.process.elected,
      tubes: this.consumer.load().map(({ tube, running, held }) => ({ tube, running, held })),
      owed: this.settleQueue.size,
      eventsDropped: this.clusterEvents?.dropped ?? 0,
      toRepair: this.toRepair,
    };
  }

  private stateOf({ name, tube, missedSince }: SeriesView): DqSeriesState {
    return {
      ...(name !== undefined && { name }),
      tube,
      overdueFor: missedSince ? Math.max(0, this.now() - missedSince.getTime()) : 0,
    };
  }

  /** Approximate number of jobs left for this process's automatic repair to examine. */
  private get toRepair(): number {
    return this.selfRepair?.left ?? 0;
  }

  private async end(): Promise<void> {
    const { tubeWatch, process, producer, historyWriter, actWriter, seriesRunWriter, settleQueue } = this;
    const { ledger, cluster } = this.backend;
    const { clusterEvents } = this;
    const acting = [tubeWatch, producer, ...this.upkeep, process];
    const writing = [
      historyWriter,
      actWriter,
      seriesRunWriter,
      ...(clusterEvents ? [clusterEvents] : []),
      settleQueue,
    ];
    const { goQueueLocks } = this.backend;
    const parts = [...acting, ...writing, goQueueLocks, ledger, cluster, this.backend, this.events];
    const steps: (() => void | Promise<void>)[] = [
      ...parts.map((part) => () => part.close()),
      ...this.unhook,
    ];
    for (const step of steps) {
      try {
        await step();
      } catch (thrown) {
        const { message, stack } = toError(thrown);
        this.options.logger.error(`closing a part of the module failed: ${message}`, stack);
      }
    }
  }
}

/** Returns a handler whose jobs come again if they are of a series. */
function runsSeries(handler: HandlerMethod, declared: SeriesScheduler, stored: SeriesKeeper): HandlerMethod {
  return (payload, job) => {
    const series = declared.of(job);
    if (series) return series.run(handler, payload, job);
    return isOccurrence(job) ? stored.run(handler, payload, job) : handler(payload, job);
  };
}

function nodeEvents(events: EventHub): NodeListener {
  return {
    up: ({ endpoint }) => events.emit('nodeUp', { node: endpoint }),
    down: ({ endpoint }, error) => events.emit('nodeDown', { node: endpoint, error }),
    trouble: ({ endpoint }, message) => events.emit('nodeTrouble', { node: endpoint, message }),
  };
}

function memoryOf({ address, memory, memoryLimit, machineMemory }: RedisView): DqRedisMemory[] {
  const limit = memoryLimit ?? machineMemory;
  return memory === undefined || limit === undefined ? [] : [{ redis: address, used: memory, limit }];
}
