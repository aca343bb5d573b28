import { detached } from 'nest-handlers/context';
import { DqError, show, wrongValue } from '../errors.js';
import type { BatchHandlerMethod, BatchHandlerOptions, HandlerMethod, HandlerOptions } from '../api/job.js';
import { codecsOf, schemaOf, tubeName, type Tube } from '../api/tube.js';
import type { LimitChanges } from '../fleet/limit-changes.js';
import type { TubeLoad } from '../fleet/presence.js';
import type { ConsumerParts, ConsumerSettings, TubeContext, TubeSharing } from './tube-context.js';
import { beatsOf } from './heartbeat.js';
import { resolveHandlerOptions, type GivenOptions, type HandlerSettings } from './run/handler-settings.js';
import { sharedLanesTo } from './reserve/shared-lanes.js';
import { resolveKeepDone, type KeepDone } from './keep-done.js';
import { resolveRetention, type Retention } from './retention.js';
import { TubeConsumer } from './tube-consumer.js';

/** A running handler, returned by `consume`. */
export interface Consumption {
  /** Drains, then stops. Idempotent. */
  stop(): Promise<void>;
}

/** Registers handlers at run time. Inject it. */
export abstract class DqConsumer {
  /** Runs the tube's jobs in batches: see docs/batches.md. Otherwise as below. */
  abstract consume<Out = unknown>(
    tube: string | Tube<any, Out>,
    handler: BatchHandlerMethod<Out>,
    options: Omit<BatchHandlerOptions, 'cluster'>,
  ): Promise<Consumption>;
  /**
   * Runs the tube's jobs in this process, starting now or at the application's bootstrap. Rejects with `DQ_CONFIG` if the tube
   * already has a handler in this process, or `consume` is false; `DQ_BAD_TUBE`, `DQ_BAD_OPTION`, `DQ_CLOSED`.
   */
  abstract consume<Out = unknown>(
    tube: string | Tube<any, Out>,
    handler: HandlerMethod<Out>,
    options?: Omit<HandlerOptions, 'cluster'>,
  ): Promise<Consumption>;

  /**
   * Stops running jobs in this process for good, including those of decorated handlers: reserves nothing more, releases copies
   * whose run hasn't started, and gives handlers `shutdownTimeout` to return. Then it aborts their signals, and runs that haven't
   * ended 250 ms later are handed back without counting the attempt. Resolves once no handler is waited for and the nodes and
   * Redis have been informed; if they don't answer, that takes a few seconds at most. Never rejects. Producers keep working. A
   * shutdown calls this itself. Idempotent, and allowed before the bootstrap.
   */
  abstract stop(): Promise<void>;
}

export interface ClusterConsumerSettings extends ConsumerSettings {
  /** How long handlers have to return on a stop, in ms. */
  readonly shutdownTimeout: number;
  /** Defaults of all handlers. */
  readonly handlers: HandlerSettings;
  /** Default retention of dead letters. */
  readonly deadLetters: Retention;
  /** Which completed jobs are kept by default. @default none */
  readonly keepDone?: KeepDone | undefined;
  /** False if this process only produces. */
  readonly consume: boolean;
}

export interface ClusterConsumerParts extends ConsumerParts {
  /** Wraps a stop, so that a test can advance the clock in the meantime. @default just awaits it */
  readonly stopped?: (stop: Promise<void>) => Promise<void>;
}

/** Consumes all tubes that have a handler in this process, one handler each. */
export class ClusterConsumer extends DqConsumer {
  private readonly tubes = new Map<string, TubeConsumer>();
  /** Retention of dead letters by tube, without the prefix. */
  readonly retentions = new Map<string, Retention>();
  private readonly shared: Pick<TubeContext, 'sharedLanes' | 'beats'>;
  /** Changes by operators, by tube without the prefix. */
  private changes: LimitChanges = new Map();
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

  override consume<Out = unknown>(
    tube: string | Tube<any, Out>,
    handler: BatchHandlerMethod<Out>,
    options: Omit<BatchHandlerOptions, 'cluster'>,
  ): Promise<Consumption>;
  override consume<Out = unknown>(
    tube: string | Tube<any, Out>,
    handler: HandlerMethod<Out>,
    options?: Omit<HandlerOptions, 'cluster'>,
  ): Promise<Consumption>;
  override async consume(
    tube: string | Tube,
    handler: HandlerMethod | BatchHandlerMethod,
    options?: GivenOptions,
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
    const tubes = this.parts.sharedTubes.tubesOf(tube, name);
    const taken = tubes
      .map((each) => tubeName(each.name, this.settings.prefix))
      .find((each) => this.tubes.has(each));
    if (taken !== undefined) {
      throw new DqError(
        'DQ_CONFIG',
        `tube ${show(taken)} already has a handler in this process: expected one handler per tube`,
      );
    }
    const handling = {
      ...resolveHandlerOptions(options, this.settings.handlers, ['deadLetters', 'keepDone']),
      schema: schemaOf(tube),
      codecs: codecsOf(tube),
    };
    if (tubes.length > 1 && options?.batch !== undefined) {
      const expected = 'none, because jobs of go-queue are locked and adopted one by one';
      throw wrongValue(
        'DQ_BAD_OPTION',
        `the \`batch\` of ${show(name)}, which go-queue uses,`,
        options.batch,
        expected,
      );
    }
    if (tubes.length > 1 && options?.expireAfter !== undefined) {
      const fact = `the \`expireAfter\` of ${show(name)}, which go-queue uses`;
      throw wrongValue(
        'DQ_BAD_OPTION',
        fact,
        options.expireAfter,
        'none, because go-queue runs a job however late it is',
      );
    }
    const retention = resolveRetention(options?.deadLetters, this.settings.deadLetters);
    const keepDone = resolveKeepDone(options?.keepDone, this.settings.keepDone);
    const begun = tubes.map((each) => {
      // An adoption isn't a run: the limits apply to the adopted job.
      const unlimited = each.sharing.adopts && { limit: undefined, limits: undefined };
      const how = tubes.length === 1 ? handling : { ...handling, expireAfter: undefined, ...unlimited };
      return this.begin(each.name, handler, how, { retention, keepDone }, each.sharing);
    });
    return { stop: async () => void (await Promise.all(begun.map((each) => each.stop()))) };
  }

  private begin(
    name: string,
    handler: HandlerMethod | BatchHandlerMethod,
    handling: HandlerSettings,
    { retention, keepDone }: { readonly retention: Retention; readonly keepDone: KeepDone | undefined },
    sharing: TubeSharing,
  ): Consumption {
    const parts = { ...this.parts, ...this.shared, sharing };
    sharing.start();
    const consumer = new TubeConsumer(name, handler, handling, { ...this.settings, keepDone }, parts);
    consumer.relimit(this.changes.get(name));
    this.tubes.set(name, consumer);
    this.retentions.set(name, retention);
    if (this.started) detached(() => consumer.start()); // it outlives the request that called `consume`
    return {
      stop: async () => {
        await consumer.stop(this.settings.shutdownTimeout);
        if (this.tubes.get(name) !== consumer) return;
        this.tubes.delete(name);
        this.retentions.delete(name);
      },
    };
  }

  /** Returns the held and running jobs of this process, by tube. */
  load(): TubeLoad[] {
    return Array.from(this.tubes.values(), ({ load }) => load);
  }

  /** Applies what operators changed. */
  relimit(changes: LimitChanges): void {
    this.changes = changes;
    for (const [name, consumer] of this.tubes) consumer.relimit(changes.get(name));
  }

  /** Starts reserving for all handlers, present and future. Idempotent; does nothing after `stop`. */
  start(): void {
    if (this.started || this.stopping) return;
    this.started = true;
    for (const consumer of this.tubes.values()) consumer.start();
  }

  /** Whether consuming has ended for good. */
  get stopped(): boolean {
    return this.stopping !== undefined;
  }

  override stop(): Promise<void> {
    return (this.stopping ??= this.parts.stopped?.(this.drain()) ?? this.drain());
  }

  private async drain(): Promise<void> {
    const consumers = [...this.tubes.values()];
    const stops = consumers.map((consumer) => consumer.stop(this.settings.shutdownTimeout));
    await Promise.all(stops);
  }
}
