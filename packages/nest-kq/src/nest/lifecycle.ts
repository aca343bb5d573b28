import {
  ClusterLifecycle,
  type ClusterNames,
  type NestModule,
  type NestParts,
  type RunPhase,
} from 'nest-handlers';
import { HandlerExplorer, type FoundHandler } from './handler-explorer.js';
import { patternOf } from './handler-options.js';
import { listenerMarks } from './on-kq.js';
import type { KqRuntime } from './runtime.js';
import { kqTokens } from './tokens.js';

/** Starts and stops a cluster with the application. */
export class KqLifecycle extends ClusterLifecycle<KqRuntime, FoundHandler> {
  private readonly handlers: HandlerExplorer;

  constructor(runtime: KqRuntime, phase: RunPhase, nest: NestParts) {
    super(runtime, phase, nest, kqTokens, listenerMarks);
    this.handlers = new HandlerExplorer(
      nest,
      runtime.options,
      () => runtime.delays.find() !== undefined,
      runtime.name,
    );
  }

  protected advise(): void {
    if (!this.runtime.options.forgotten) return;
    this.warnOfMemory("set `brokers` to store them in Kafka, or `brokers: 'memory'` to keep them in memory");
  }

  protected take(clusters: ClusterNames, modules?: ReadonlySet<NestModule>): FoundHandler[] {
    return this.handlers.explore(clusters, modules);
  }

  protected open(): void {
    this.runtime.start();
  }

  protected async start(): Promise<void> {
    void this.runtime.takeOver(); // not awaited: whatever needs it just starts later
    await this.runtime.pushWhatWaits();
  }

  protected run(handlers: readonly FoundHandler[]): Promise<void> {
    return this.runtime.consume(handlers);
  }

  protected sourcesOf({ settings }: FoundHandler): (string | RegExp)[] {
    return settings.topics.map(patternOf);
  }

  protected stop(): Promise<void> {
    return this.runtime.stop();
  }
}
