import type { LoggerService, OnApplicationShutdown, OnModuleInit } from '@nestjs/common';
import type { ClusterTokens } from './cluster-tokens.js';
import { detached } from './context.js';
import { ListenerExplorer, type Listen, type ListenerMark } from './listener-explorer.js';
import type { ClusterNames, NestModule } from './marked-methods.js';
import type { MethodMarks } from './method-marks.js';
import type { NestParts } from './nest-parts.js';
import type { RunPhase, RunPhaseMember } from './run-phase.js';

/** The parts of one cluster, as its lifecycle knows them. */
export interface ClusterRuntime {
  /** Cluster name. */
  readonly name?: string | undefined;
  /** If `consume` is false, handlers are found and checked, but not run in this process. */
  readonly options: { readonly consume: boolean; readonly logger: LoggerService };
  /** Events of the cluster. */
  readonly events: {
    /** Calls the listener on each event with a given name. */
    listen(...given: Parameters<Listen<any>>): void;
  };
  /** Idempotent. Never rejects. */
  close(): Promise<void>;
}

/**
 * Starts and stops a cluster with the application. Handlers run once all modules are ready, and are drained while all modules
 * still work. Producers keep working until every other module has ended.
 *
 * Steps, in order: `advise`, `take`, `open`; once all modules are ready, `start` and `run`; at the end `stop`, then the
 * runtime's `close`. Lazily loaded modules go through `take` and `run`.
 */
export abstract class ClusterLifecycle<Runtime extends ClusterRuntime, Found>
  implements OnModuleInit, RunPhaseMember, OnApplicationShutdown
{
  protected readonly logger: LoggerService;
  private readonly cluster: string | undefined;
  private readonly listeners: ListenerExplorer<any>;
  /** Handlers found but not running yet. */
  private readonly waiting: Found[] = [];
  private prepared = false;
  private begun = false;
  private ended = false;

  constructor(
    protected readonly runtime: Runtime,
    private readonly phase: RunPhase,
    nest: NestParts,
    private readonly tokens: ClusterTokens<Function, string>,
    listenerMarks: MethodMarks<ListenerMark<any>>,
  ) {
    phase.members.add(this);
    const { events, name, options } = runtime;
    this.logger = options.logger;
    this.cluster = name;
    const listen: Listen<any> = (event, listener, who) =>
      tokens.kind.asConfigError(`${who}: `, () => events.listen(event, listener, who));
    this.listeners = new ListenerExplorer(nest, listenerMarks, listen, name);
  }

  /** Warns about a bad setup. Called before anything else. */
  protected abstract advise(): void;
  /** Returns the handlers not found before, in all modules or the given ones. Called once listeners are attached. */
  protected abstract take(
    clusters: ClusterNames,
    modules?: ReadonlySet<NestModule>,
  ): Promise<readonly Found[]> | readonly Found[];
  /** Makes the cluster usable for other modules. */
  protected abstract open(): Promise<void> | void;
  /** Called when all modules are ready. */
  protected abstract start(): Promise<void> | void;
  /** Starts running these handlers. Called only with the option `consume`. */
  protected abstract run(handlers: readonly Found[]): Promise<void>;
  /** Returns what a handler consumes, for the log. */
  protected abstract sourcesOf(handler: Found): readonly unknown[];
  /** Drains. Never rejects. Idempotent, and allowed before any other step. */
  protected abstract stop(): Promise<void>;

  /** Called by Nest: finds the handlers and listeners, and opens the cluster. */
  async onModuleInit(): Promise<void> {
    await this.phase.orGiveUp(detached(() => this.prepare()));
  }

  async begin(): Promise<void> {
    if (this.ended) return;
    this.begun = true;
    await this.start();
    await this.go();
  }

  async loaded(modules: ReadonlySet<NestModule>): Promise<void> {
    if (!this.prepared || this.ended) return; // `prepare` will find them, or it is too late to start
    await this.find(modules);
    if (this.begun) await this.go();
  }

  async end(): Promise<void> {
    this.ended = true;
    await this.stop();
  }

  close(): Promise<void> {
    return this.runtime.close();
  }

  /** Called by Nest, after every other module has ended. Never rejects. */
  onApplicationShutdown(): Promise<void> {
    return this.close();
  }

  /**
   * For `advise`: warns that no option says where items are stored. `instead`: the options that do. Throws the kind's
   * configuration error in production, since a forgotten option would lose items.
   */
  protected warnOfMemory(instead: string): void {
    const { kind } = this.tokens;
    const fate = 'lost when this process exits and invisible to other processes';
    if (process.env['NODE_ENV'] === 'production') {
      const trouble = `NODE_ENV is production, but no option sets where ${kind.item}s are stored`;
      throw kind.configError(`${trouble}; in memory they would be ${fate}: ${instead}`);
    }
    this.logger.warn(`${kind.item}s are stored in memory: they are ${fate}; ${instead}`);
  }

  private async prepare(): Promise<void> {
    this.advise();
    await this.find();
    this.prepared = true;
    await this.open();
  }

  private async find(modules?: ReadonlySet<NestModule>): Promise<void> {
    const clusters = this.clusters();
    this.listeners.attach(clusters, modules);
    this.waiting.push(...(await this.take(clusters, modules)));
  }

  private async go(): Promise<void> {
    const handlers = this.waiting.splice(0);
    if (handlers.length === 0) return;
    if (this.runtime.options.consume) return this.run(handlers);
    const sources = handlers.flatMap((each) => this.sourcesOf(each)).join(', ');
    this.logger.log(`not consuming ${sources} in this process: \`consume\` is false`);
  }

  /**
   * Returns the names of the library's clusters in the application. Throws the kind's configuration error if two share the name
   * of this one: both would find its handlers, and the parts of one of them couldn't be injected.
   */
  private clusters(): ClusterNames {
    const { phase, tokens } = this;
    const names = Array.from(phase.members).flatMap((member) =>
      member instanceof ClusterLifecycle && member.tokens === tokens ? [member.cluster] : [],
    );
    const name = this.cluster;
    const same = names.filter((each) => each === name).length;
    if (same === 1) return names;
    const named = name === undefined ? 'without a name' : `with the name ${tokens.showCluster(name)}`;
    const importers = phase.importersOf(tokens.of('runtime', name));
    const by = importers.length > 0 ? `, by ${importers.join(' and ')}` : '';
    const more = name === undefined ? '; a second cluster needs a `name`' : '';
    throw tokens.kind.configError(
      `${tokens.kind.module}.forRoot or forRootAsync is imported ${same} times ${named}${by}: expected once, since it is global${more}`,
    );
  }
}
