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
import { KqError } from '../errors.js';
import type { KqEventName } from '../events/events.js';
import { HandlerExplorer, type FoundHandler } from './handler-explorer.js';
import { patternOf } from './handler-options.js';
import { listenerMarks } from './on-kq.js';
import { asConfigError } from './option-checks.js';
import type { ResolvedOptions } from './options.js';
import type { KqRuntime } from './runtime.js';
import { getKqToken, kqTokens } from './tokens.js';

/**
 * Starts and ends a cluster with the application. Handlers run from when all modules are ready, and are drained while all
 * modules still work. The pusher works until every other module has ended.
 */
export class KqLifecycle implements OnModuleInit, RunPhaseMember, OnApplicationShutdown {
  readonly cluster: string | undefined;
  private readonly options: ResolvedOptions;
  private readonly logger: LoggerService;
  private readonly handlers: HandlerExplorer;
  private readonly listeners: ListenerExplorer<KqEventName>;
  /** Those that were found, and do not run yet. */
  private readonly waiting: FoundHandler[] = [];
  private prepared = false;
  private begun = false;
  private ended = false;

  constructor(
    private readonly runtime: KqRuntime,
    private readonly phase: RunPhase,
    nest: NestParts,
  ) {
    phase.members.add(this);
    this.options = runtime.options;
    this.logger = runtime.options.logger;
    this.cluster = runtime.name;
    const hasDq = () => runtime.delays.find() !== undefined;
    this.handlers = new HandlerExplorer(nest, runtime.options, hasDq, runtime.name);
    this.listeners = new ListenerExplorer(
      nest,
      listenerMarks,
      (event, listener, who) => asConfigError(`${who}: `, () => runtime.events.listen(event, listener, who)),
      runtime.name,
    );
  }

  async onModuleInit(): Promise<void> {
    await this.phase.orGiveUp(detached(() => this.prepare()));
  }

  async begin(): Promise<void> {
    if (this.ended) return;
    this.begun = true;
    void this.runtime.takeOver(); // whoever waits for that begins later by itself
    await this.runtime.pushWhatWaits();
    await this.go();
  }

  async loaded(modules: ReadonlySet<NestModule>): Promise<void> {
    if (!this.prepared || this.ended) return; // `prepare` will find them, or nothing starts any more
    this.take(modules);
    if (this.begun) await this.go();
  }

  async end(): Promise<void> {
    this.ended = true;
    await this.runtime.stop();
  }

  close(): Promise<void> {
    return this.runtime.close();
  }

  onApplicationShutdown(): Promise<void> {
    return this.close();
  }

  private async prepare(): Promise<void> {
    if (this.options.forgotten) this.warnOfMemory();
    this.take();
    this.prepared = true;
    this.runtime.start();
  }

  /** Takes the handlers and listeners that were not found before, of all modules or of these. */
  private take(modules?: ReadonlySet<NestModule>): void {
    const clusters = this.clusters();
    this.waiting.push(...this.handlers.explore(clusters, modules));
    this.listeners.attach(clusters, modules);
  }

  /** Starts the handlers that were found since the last time. */
  private async go(): Promise<void> {
    const handlers = this.waiting.splice(0);
    if (handlers.length === 0) return;
    if (this.options.consume) return this.runtime.consume(handlers);
    const topics = handlers.flatMap(({ settings }) => settings.topics.map(patternOf)).join(', ');
    this.logger.log(`does not consume ${topics} in this process, as \`consume\` is false`);
  }

  /**
   * The names of all clusters of the application. Two modules of one name are `KQ_CONFIG`: both would find the handlers of
   * that name, and one of the two pushers could not be injected.
   */
  private clusters(): ClusterNames {
    const ours = Array.from(this.phase.members).filter((member) => member instanceof KqLifecycle);
    const names = ours.map(({ cluster }) => cluster);
    const same = names.filter((name) => name === this.cluster).length;
    if (same === 1) return names;
    const named =
      this.cluster === undefined ? 'without a name' : `with the name ${kqTokens.showCluster(this.cluster)}`;
    const importers = this.phase.importersOf(getKqToken(this.cluster));
    const by = importers.length > 0 ? `, by ${importers.join(' and ')}` : '';
    const more = this.cluster === undefined ? '; a second cluster needs a `name`' : '';
    throw new KqError(
      'KQ_CONFIG',
      `KqModule.forRoot or forRootAsync is imported ${same} times ${named}${by}: expected once, as it is global${more}`,
    );
  }

  /** `KQ_CONFIG` in production, because a forgotten option would lose messages. */
  private warnOfMemory(): void {
    const fate = 'lost when this process ends, and no other process sees them';
    const instead = "`brokers` stores them in Kafka, and `brokers: 'memory'` says that you want memory";
    if (process.env['NODE_ENV'] === 'production') {
      const trouble = 'NODE_ENV is production, and no option says where messages are stored';
      throw new KqError('KQ_CONFIG', `${trouble}; in memory they would be ${fate}: ${instead}`);
    }
    this.logger.warn(`messages are stored in memory: they are ${fate}; ${instead}`);
  }
}
