import {
  ClusterLifecycle,
  type ClusterNames,
  type NestModule,
  type NestParts,
  type RunPhase,
} from 'nest-handlers';
import { toError } from '../errors.js';
import { occurrencesOf } from '../recurring/occurrences.js';
import { Series } from '../recurring/series.js';
import type { Timer } from 'nest-handlers/time';
import { HandlerExplorer, type FoundHandler } from './handler-explorer.js';
import { listenerMarks } from './on-dq.js';
import { configError } from './option-checks.js';
import type { DqRuntime } from './runtime.js';
import { dqTokens } from './tokens.js';

/** Delay after bootstrap. An application may enable its shutdown hooks only then. */
const HOOKS_WITHIN_MS = 1_000;

/** Starts and stops a cluster with the application. */
export class DqLifecycle extends ClusterLifecycle<DqRuntime, FoundHandler> {
  private readonly handlers: HandlerExplorer;
  private hooksReminder: Timer | undefined;

  constructor(runtime: DqRuntime, phase: RunPhase, nest: NestParts) {
    super(runtime, phase, nest, dqTokens, listenerMarks);
    this.handlers = new HandlerExplorer(nest, runtime.options, runtime.name);
  }

  protected advise(): void {
    const { servers, folder, memory, advise, oneCopyWanted } = this.runtime.options;
    if (!advise) return;
    if (!servers && !folder && !memory)
      this.warnOfMemory(
        '`embedded: { dir }` stores them in a folder, `beanstalks` with `redis` on servers; ' +
          "set `embedded: 'memory'` if memory is intended",
      );
    if (servers?.beanstalks.length === 1 && !oneCopyWanted)
      this.logger.warn(
        "`beanstalks` names one node, so each job has one copy and is lost with that node's disk: " +
          'name three nodes on machines that do not fail together, or set `replicas: 1` if one copy is intended',
      );
  }

  protected async take(clusters: ClusterNames, modules?: ReadonlySet<NestModule>): Promise<FoundHandler[]> {
    const { consumer, options } = this.runtime;
    if (modules && consumer.stopped) return []; // the application drained manually, then loaded more modules
    const handlers = this.handlers.explore(clusters, modules);
    for (const found of handlers) {
      if (found.recurrence) await this.addSeries(found, found.recurrence);
      if (options.consume) await consumer.consume(found.token, found.handler, found.options);
    }
    return handlers;
  }

  protected async open(): Promise<void> {
    const { runtime } = this;
    const { servers } = runtime.options;
    await runtime.open();
    runtime.start();
    if (servers && servers.beanstalks.length > 1) await runtime.refuseTwins();
    await runtime.lookForOtherLedger(); // before any add with a key, as series do
    runtime.refuseOtherKeys();
  }

  protected start(): void {
    this.runtime.consumer.start();
  }

  protected async run(handlers: readonly FoundHandler[]): Promise<void> {
    const { clock, options, declaredSeries } = this.runtime;
    this.logger.log(`consumes ${handlers.map(({ tube }) => tube).join(', ')}`);
    if (options.advise) this.hooksReminder ??= clock.after(HOOKS_WITHIN_MS, () => this.remindOfHooks());
    await declaredSeries.start();
  }

  protected sourcesOf({ tube }: FoundHandler): [string] {
    return [tube];
  }

  protected async stop(): Promise<void> {
    this.hooksReminder?.cancel();
    const ends = await Promise.allSettled([this.runtime.declaredSeries.stop(), this.runtime.stop()]);
    for (const end of ends) {
      if (end.status === 'fulfilled') continue;
      const { message, stack } = toError(end.reason);
      this.logger.error(`drain failed: ${message}`, stack);
    }
  }

  /** Adds the series of a `@Recurring`. `DQ_CONFIG` if its plan is invalid. */
  private async addSeries(
    { name, token }: FoundHandler,
    recurrence: NonNullable<FoundHandler['recurrence']>,
  ): Promise<void> {
    const { producer } = this.runtime;
    try {
      const occurrences = await occurrencesOf(recurrence.plan, recurrence.tz);
      occurrences.after(this.runtime.now()); // throws here if the plan is invalid
      const series = new Series(token as string, { producer, occurrences });
      this.runtime.declaredSeries.add(series);
      this.runtime.seriesRunWriter.start();
    } catch (error) {
      throw configError(`${name}: `, error);
    }
  }

  private remindOfHooks(): void {
    if (process.listenerCount('SIGTERM') > 0) return;
    this.logger.warn(
      'nothing listens for SIGTERM, so running handlers would be killed instead of drained: call app.enableShutdownHooks()',
    );
  }
}
