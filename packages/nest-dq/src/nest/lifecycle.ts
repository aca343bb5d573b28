import type { LoggerService, OnApplicationShutdown, OnModuleInit } from '@nestjs/common';
import {
  ListenerExplorer,
  type ClusterNames,
  type NestModule,
  type NestParts,
  type RunPhase,
  type RunPhaseMember,
} from 'nest-handlers';
import { detached } from 'nest-handlers/context';
import { DqError, toError } from '../errors.js';
import type { HandlerMethod } from '../api/job.js';
import type { DqEventName } from '../events/events.js';
import { occurrencesOf } from '../recurring/occurrences.js';
import { Series } from '../recurring/series.js';
import type { Timer } from 'nest-handlers/time';
import { HandlerExplorer, type FoundHandler } from './handler-explorer.js';
import { listenerMarks } from './on-dq.js';
import { asConfigError, configError } from './option-checks.js';
import type { ResolvedOptions } from './options.js';
import type { DqRuntime } from './runtime.js';
import { dqTokens, getDqToken } from './tokens.js';

/** Milliseconds after bootstrap. An application may enable its shutdown hooks only then. */
const HOOKS_WITHIN = 1_000;

/**
 * Starts and ends a cluster with the application. Handlers run from when all modules are ready, and are drained while all
 * modules still work. Producers work until every other module has ended.
 */
export class DqLifecycle implements OnModuleInit, RunPhaseMember, OnApplicationShutdown {
  readonly cluster: string | undefined;
  private readonly options: ResolvedOptions;
  private readonly logger: LoggerService;
  private readonly handlers: HandlerExplorer;
  private readonly listeners: ListenerExplorer<DqEventName>;
  /** The tubes of handlers that were found, and are not logged yet. */
  private readonly tubes: string[] = [];
  private hooksReminder: Timer | undefined;
  private prepared = false;
  private begun = false;
  private ended = false;

  constructor(
    private readonly runtime: DqRuntime,
    private readonly phase: RunPhase,
    nest: NestParts,
  ) {
    phase.members.add(this);
    const { options, events, name } = runtime;
    this.options = options;
    this.logger = options.logger;
    this.cluster = name;
    this.handlers = new HandlerExplorer(nest, options, name);
    this.listeners = new ListenerExplorer(
      nest,
      listenerMarks,
      (event, listener, who) => asConfigError(`${who}: `, () => events.listen(event, listener, who)),
      name,
    );
  }

  async onModuleInit(): Promise<void> {
    await this.phase.orGiveUp(detached(() => this.prepare()));
  }

  private async prepare(): Promise<void> {
    const { servers, folder, memory, advise } = this.options;
    if (!servers && !folder && !memory && advise) this.warnOfMemory();
    if (servers?.beanstalks.length === 1 && advise && !this.options.oneCopyWanted) this.warnOfOneNode();
    await this.take();
    this.prepared = true;
    await this.runtime.open();
    this.runtime.start();
    if (servers && servers.beanstalks.length > 1) await this.runtime.refuseTwins();
    await this.runtime.lookForOtherLedger(); // before anything is added with a key, as the series are
    this.runtime.refuseOtherKeys();
  }

  /** Takes the handlers and listeners that were not found before, of all modules or of these. */
  private async take(modules?: ReadonlySet<NestModule>): Promise<void> {
    const { consume } = this.options;
    const clusters = this.clusters();
    const handlers = this.handlers.explore(clusters, modules);
    this.listeners.attach(clusters, modules);
    for (const found of handlers) {
      const handler = await this.recurring(found);
      if (consume) await this.runtime.consumer.consume(found.token, handler, found.options);
    }
    this.tubes.push(...handlers.map(({ tube }) => tube));
  }

  async begin(): Promise<void> {
    if (this.ended) return;
    this.begun = true;
    this.runtime.consumer.start();
    await this.go();
  }

  async loaded(modules: ReadonlySet<NestModule>): Promise<void> {
    if (!this.prepared || this.ended) return; // `prepare` will find them, or nothing starts any more
    if (this.runtime.consumer.stopped) return this.listeners.attach(this.clusters(), modules);
    await this.take(modules);
    if (this.begun) await this.go();
  }

  /** Starts the handlers that were found since the last time. */
  private async go(): Promise<void> {
    const { consume, advise } = this.options;
    const tubes = this.tubes.splice(0);
    if (tubes.length === 0) return;
    if (!consume) {
      this.logger.log(`does not consume ${tubes.join(', ')} in this process, as \`consume\` is false`);
      return;
    }
    this.logger.log(`consumes ${tubes.join(', ')}`);
    if (advise) this.hooksReminder ??= this.runtime.clock.after(HOOKS_WITHIN, () => this.remindOfHooks());
    await this.runtime.series.start();
  }

  async end(): Promise<void> {
    this.ended = true;
    this.hooksReminder?.cancel();
    const ends = await Promise.allSettled([this.runtime.series.stop(), this.runtime.stop()]);
    for (const end of ends) {
      if (end.status === 'fulfilled') continue;
      const { message, stack } = toError(end.reason);
      this.logger.error(`the drain failed: ${message}`, stack);
    }
  }

  close(): Promise<void> {
    return this.runtime.close();
  }

  onApplicationShutdown(): Promise<void> {
    return this.close();
  }

  /** The handler itself. For a `@Recurring`, its series, which calls the handler. `DQ_CONFIG`: the plan is wrong. */
  private async recurring({ name, token, handler, recurrence }: FoundHandler): Promise<HandlerMethod> {
    if (!recurrence) return handler;
    const { producer } = this.runtime;
    try {
      const occurrences = await occurrencesOf(recurrence.plan, recurrence.tz);
      occurrences.after(this.runtime.now()); // throws now where the plan is wrong
      const series = new Series(token as string, { producer, occurrences, handler });
      this.runtime.series.add(series);
      return (payload, job) => series.run(payload, job);
    } catch (error) {
      throw configError(`${name}: `, error);
    }
  }

  /**
   * The names of all clusters of the application. Two modules of one name are `DQ_CONFIG`: both would find the handlers of
   * that name, and one of the two producers could not be injected.
   */
  private clusters(): ClusterNames {
    const ours = Array.from(this.phase.members).filter((member) => member instanceof DqLifecycle);
    const names = ours.map(({ cluster }) => cluster);
    const same = names.filter((name) => name === this.cluster).length;
    if (same === 1) return names;
    const named =
      this.cluster === undefined ? 'without a name' : `with the name ${dqTokens.showCluster(this.cluster)}`;
    const importers = this.phase.importersOf(getDqToken(this.cluster));
    const by = importers.length > 0 ? `, by ${importers.join(' and ')}` : '';
    const more = this.cluster === undefined ? '; a second cluster needs a `name`' : '';
    throw new DqError(
      'DQ_CONFIG',
      `DqModule.forRoot or forRootAsync is imported ${same} times ${named}${by}: expected once, as it is global${more}`,
    );
  }

  /** `DQ_CONFIG` in production, because a forgotten option would lose jobs. */
  private warnOfMemory(): void {
    const fate = 'lost when this process ends, and no other process sees them';
    const instead =
      '`embedded: { dir }` stores them in a folder, `beanstalks` and `redis` on servers, ' +
      "and `embedded: 'memory'` says that you want memory";
    if (process.env['NODE_ENV'] === 'production') {
      const trouble = 'NODE_ENV is production, and no option says where jobs are stored';
      throw new DqError('DQ_CONFIG', `${trouble}; in memory they would be ${fate}: ${instead}`);
    }
    this.logger.warn(`jobs are stored in memory: they are ${fate}; ${instead}`);
  }

  private warnOfOneNode(): void {
    this.logger.warn(
      '`beanstalks` names one node, so each job has one copy and is lost with the disk of that node: ' +
        'name three nodes on machines that do not fail together, or set `replicas: 1` if one copy is meant',
    );
  }

  private remindOfHooks(): void {
    if (process.listenerCount('SIGTERM') > 0) return;
    this.logger.warn(
      'nothing listens to SIGTERM, so running handlers would be killed and not drained: call app.enableShutdownHooks()',
    );
  }
}
