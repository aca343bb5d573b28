import type {
  LoggerService,
  OnApplicationBootstrap,
  OnApplicationShutdown,
  OnModuleDestroy,
  OnModuleInit,
} from '@nestjs/common';
import type { DiscoveryService } from '@nestjs/core';
import { DqError } from '../errors.js';
import type { Clock, Timer } from '../time.js';
import type { ClusterNames } from './found-methods.js';
import type { HandlerExplorer } from './handler-explorer.js';
import type { ListenerExplorer } from './listener-explorer.js';
import type { ResolvedOptions } from './options.js';
import type { DqRuntime } from './runtime.js';
import { showCluster } from './tokens.js';

/** Milliseconds after bootstrap: an application context enables its shutdown hooks only then. */
const HOOKS_WITHIN = 1_000;

/**
 * When things begin and end. Handlers run only once all modules are ready, and are drained while all of them still
 * work; producers work until every other module is done.
 */
export class DqLifecycle
  implements OnModuleInit, OnApplicationBootstrap, OnModuleDestroy, OnApplicationShutdown
{
  private readonly logger: LoggerService;
  private hasHandlers = false;
  private hooksReminder: Timer | undefined;

  constructor(
    private readonly runtime: DqRuntime,
    private readonly explorer: HandlerExplorer,
    private readonly listeners: ListenerExplorer,
    private readonly discovery: DiscoveryService,
    private readonly options: ResolvedOptions,
    private readonly clock: Clock,
    private readonly cluster?: string,
  ) {
    this.logger = options.logger;
  }

  async onModuleInit(): Promise<void> {
    const clusters = this.clusters();
    const handlers = this.explorer.explore(clusters);
    this.listeners.attach(clusters);
    if (this.options.consume) {
      for (const { token, handler, options } of handlers)
        await this.runtime.consumer.consume(token, handler, options);
      this.hasHandlers = handlers.length > 0;
    }
    if (!this.options.servers && this.options.advise) this.warnOfMemory();
    this.runtime.start();
  }

  onApplicationBootstrap(): void {
    this.runtime.consumer.start();
    if (!this.hasHandlers || !this.options.advise) return;
    this.hooksReminder = this.clock.after(HOOKS_WITHIN, () => this.remindOfHooks());
  }

  async onModuleDestroy(): Promise<void> {
    this.hooksReminder?.cancel();
    await this.runtime.stop();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.runtime.close();
  }

  /**
   * Of all modules of the application, this one's among them. Two of one name would both find its handlers, and one of
   * the two producers could not be injected: `DQ_CONFIG`.
   */
  private clusters(): ClusterNames {
    const modules = this.discovery.getProviders().map(({ instance }): unknown => instance);
    const names = modules.filter((each) => each instanceof DqLifecycle).map(({ cluster }) => cluster);
    const same = names.filter((name) => name === this.cluster).length;
    if (same === 1) return names;
    throw new DqError(
      'DQ_CONFIG',
      this.cluster === undefined
        ? `DqModule.forRoot or forRootAsync is imported ${same} times without a name: expected once, as it is global; a second cluster needs a \`name\``
        : `DqModule.forRoot or forRootAsync is imported ${same} times with the name ${showCluster(this.cluster)}: expected once, as it is global`,
    );
  }

  private warnOfMemory(): void {
    const fact =
      'jobs are kept in memory: they are lost when this process ends, and no other process sees them';
    this.logger.warn(
      process.env['NODE_ENV'] === 'production'
        ? `NODE_ENV is production, but ${fact}. Give DqModule \`beanstalks\` and \`redis\`.`
        : `${fact}; \`beanstalks\` and \`redis\` keep them`,
    );
  }

  private remindOfHooks(): void {
    if (process.listenerCount('SIGTERM') > 0) return;
    this.logger.warn(
      'nothing listens to SIGTERM, so running handlers would be killed and not drained: call app.enableShutdownHooks()',
    );
  }
}
