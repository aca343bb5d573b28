import { detached } from 'nest-handlers/context';
import { DqError, show, wrongValue } from '../errors.js';
import type { HandlerMethod, HandlerOptions } from '../api/job.js';
import { nestTube, schemaOf, tubeName, type Tube } from '../api/tube.js';
import { UNCERTAIN_AFTER } from '../go-queue/locks.js';
import type { TubeLoad } from '../fleet/presence.js';
import type { ConsumerParts, ConsumerSettings, GoQueueRole, TubeContext } from './tube-context.js';
import { beatsOf } from './heartbeat.js';
import { resolveHandlerOptions, type HandlerSettings } from './run/handler-settings.js';
import { sharedLanesTo } from './reserve/shared-lanes.js';
import { resolveRetention, type Retention } from './retention.js';
import { TubeConsumer } from './tube-consumer.js';

/** What `consume` returns: the way to end it. */
export interface Consumption {
  /** Drains, then stops. Idempotent. */
  stop(): Promise<void>;
}

/** Handlers made at run time. Inject it. */
export abstract class DqConsumer {
  /**
   * Runs the tube's jobs in this process from now on, or from the application's bootstrap.
   * `DQ_CONFIG` when the tube has a handler in this process, or `consume` is false; `DQ_BAD_TUBE`, `DQ_BAD_OPTION`,
   * `DQ_CLOSED`.
   */
  abstract consume<Out = unknown>(
    tube: string | Tube<any, Out>,
    handler: HandlerMethod<Out>,
    options?: Omit<HandlerOptions, 'cluster'>,
  ): Promise<Consumption>;

  /**
   * Ends the running of jobs in this process, those of decorated handlers too, for good: nothing more is reserved, what
   * has not begun is released, and handlers have `drainLimit` to end. Then their signals abort, and the runs that still
   * go on 250 ms later are handed back without their attempt. Resolves when no handler is waited for any more
   * and the nodes and Redis were told, which takes some seconds at most where they do not answer. Never rejects.
   * Producers go on working, and a shutdown calls this itself. Idempotent, also before the bootstrap.
   */
  abstract stop(): Promise<void>;
}

export interface ClusterConsumerSettings extends ConsumerSettings {
  /** Milliseconds. */
  readonly drainLimit: number;
  /** What each handler starts from. */
  readonly handlers: HandlerSettings;
  /** Of the dead letters of a tube whose handler does not say anything else. */
  readonly deadLetters: Retention;
  /** False: this process only produces. */
  readonly consume: boolean;
}

export interface ClusterConsumerParts extends ConsumerParts {
  /** Awaits a stop, which may take some of the clock's time. Default: the clock moves by itself. */
  readonly stopped?: (stop: Promise<void>) => Promise<void>;
}

/** All tubes that this process consumes: one handler each. */
export class ClusterConsumer extends DqConsumer {
  private readonly tubes = new Map<string, TubeConsumer>();
  /** How long dead letters are kept, by tube, without the prefix. */
  readonly retentions = new Map<string, Retention>();
  private readonly shared: Pick<TubeContext, 'sharedLanes' | 'beats'>;
  private started = false;
  private stopping: Promise<void> | undefined;

  constructor(
    private readonly settings: ClusterConsumerSettings,
    private readonly parts: ClusterConsumerParts,
  ) {
    super();
    const { cluster, clock, report } = parts;
    this.shared = {
      sharedLanes: sharedLanesTo(cluster.nodes, clock, report),
      beats: beatsOf(clock, settings.lease),
    };
  }

  override async consume(
    tube: string | Tube,
    handler: HandlerMethod,
    options?: Omit<HandlerOptions, 'cluster'>,
  ): Promise<Consumption> {
    const name = tubeName(tube, this.settings.prefix);
    if (this.stopping)
      throw new DqError('DQ_CLOSED', `the consumer was stopped, so ${show(name)} cannot be consumed`);
    if (!this.settings.consume) {
      throw new DqError(
        'DQ_CONFIG',
        `the module has \`consume: false\`, so ${show(name)} cannot be consumed here`,
      );
    }
    if (typeof handler !== 'function') {
      throw wrongValue('DQ_BAD_OPTION', `the handler of ${show(name)}`, handler, 'a function');
    }
    const { around, goQueue } = this.parts;
    const wire = goQueue.wires.of(tube, name);
    // What go-queue stored goes on in a tube of ours.
    const names = wire === undefined ? [name] : [name, tubeName(nestTube(name), this.settings.prefix)];
    const taken = names.find((each) => this.tubes.has(each));
    if (taken !== undefined) {
      throw new DqError(
        'DQ_CONFIG',
        `the tube ${show(taken)} has a handler in this process already; one tube, one handler`,
      );
    }
    const handling = {
      ...resolveHandlerOptions(options, this.settings.handlers, ['deadLetters']),
      schema: schemaOf(tube),
    };
    const retention = resolveRetention(options?.deadLetters, this.settings.deadLetters);
    const surrounded = around ? around(handler) : handler;
    const begin = (ofTube: string, goQueueRole?: GoQueueRole, how = handling) =>
      this.begin(ofTube, surrounded, how, retention, goQueueRole);
    if (wire === undefined) return begin(name);
    goQueue.locks.start();
    const late = wire === 'go-queue' ? UNCERTAIN_AFTER : Infinity;
    // An adoption is no run: the limits hold for what is adopted.
    const unlimited = { ...handling, limit: undefined, limits: undefined };
    const both = [begin(name, { adopts: true, late }, unlimited), begin(nestTube(name), { locks: true })];
    return { stop: async () => void (await Promise.all(both.map((each) => each.stop()))) };
  }

  private begin(
    name: string,
    handler: HandlerMethod,
    handling: HandlerSettings,
    retention: Retention,
    goQueueRole: GoQueueRole | undefined,
  ): Consumption {
    const parts = { ...this.parts, ...this.shared, goQueueRole };
    const consumer = new TubeConsumer(name, handler, handling, this.settings, parts);
    this.tubes.set(name, consumer);
    this.retentions.set(name, retention);
    if (this.started) detached(() => consumer.start()); // it outlives a request that consumes
    return {
      stop: async () => {
        await consumer.stop(this.settings.drainLimit);
        if (this.tubes.get(name) !== consumer) return;
        this.tubes.delete(name);
        this.retentions.delete(name);
      },
    };
  }

  /** What each tube has at hand. */
  load(): TubeLoad[] {
    return Array.from(this.tubes.values(), ({ load }) => load);
  }

  /** Begins to reserve for all handlers, and for those to come. Idempotent, and nothing after `stop`. */
  start(): void {
    if (this.started || this.stopping) return;
    this.started = true;
    for (const consumer of this.tubes.values()) consumer.start();
  }

  /** Nothing can be consumed any more. */
  get stopped(): boolean {
    return this.stopping !== undefined;
  }

  override stop(): Promise<void> {
    return (this.stopping ??= this.parts.stopped?.(this.drain()) ?? this.drain());
  }

  private async drain(): Promise<void> {
    const consumers = [...this.tubes.values()];
    const stops = consumers.map((consumer) => consumer.stop(this.settings.drainLimit));
    await Promise.all(stops);
  }
}
