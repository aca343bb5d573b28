/**
 * Jobs written as rows in your own database transaction, and a relay that adds them after the commit.
 * @module nest-dq/outbox
 */
import {
  ConfigurableModuleBuilder,
  Inject,
  Module,
  type ConfigurableModuleAsyncOptions,
  type DynamicModule,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
  type Provider,
} from '@nestjs/common';
import { DqError, show } from '../errors.js';
import type { DqRuntime } from '../nest/runtime.js';
import { dqTokens } from '../nest/tokens.js';
import { OPTION_NAMES, resolveOutboxOptions, type DqOutboxOptions } from './outbox-options.js';
import { DqOutbox } from './outbox.js';
import { Relay } from './relay.js';

export { DqOutbox } from './outbox.js';
export type { OutboxJobOptions, OutboxReceipt, OutboxState, StuckRow } from './outbox.js';
export type { DqOutboxOptions, OutboxListener } from './outbox-options.js';
export { drizzleQuery } from './database.js';
export type { OutboxDatabase, OutboxDialect, OutboxQuery, OutboxValue } from './database.js';
export { outboxMigration } from './sql.js';
export type { OutboxMigrationOptions } from './sql.js';

/** Settings of the module itself, next to its options. */
export interface DqOutboxExtras {
  /** Name of the cluster that gets the jobs. @default the unnamed cluster */
  cluster?: string;
  /** Whether every module can inject `DqOutbox`. With one outbox for each of several clusters, `false`. @default true */
  isGlobal?: boolean;
}

/** The class named by `useClass` or `useExisting` of `forRootAsync`. */
export interface DqOutboxOptionsFactory {
  /** Called once, at the start. */
  createDqOutboxOptions(): DqOutboxOptions | Promise<DqOutboxOptions>;
}

/** Options of `DqOutboxModule.forRootAsync`: `useFactory` with `inject`, or `useClass` or `useExisting`. */
export type DqOutboxModuleAsyncOptions = ConfigurableModuleAsyncOptions<
  DqOutboxOptions,
  keyof DqOutboxOptionsFactory
> &
  DqOutboxExtras;

/** The relay of the module, and whether this process runs it. */
class OutboxRelay {
  readonly relay: Relay;
  readonly outbox: DqOutbox;
  private readonly relays: boolean;

  constructor(given: DqOutboxOptions, { clock, now, options, producer }: RelayedRuntime) {
    const resolved = resolveOutboxOptions(given);
    this.relays = resolved.relay;
    this.relay = new Relay(
      { clock, now, producer, logger: options.logger, doneTtl: options.doneTtl },
      resolved,
    );
    this.outbox = new DqOutbox(producer, resolved, () => this.relay.relay());
  }

  start(): void {
    if (this.relays) this.relay.start();
  }
}

type RelayedRuntime = Pick<DqRuntime, 'clock' | 'options' | 'producer'> & { readonly now: () => number };

const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN } = new ConfigurableModuleBuilder<DqOutboxOptions>({
  moduleName: 'DqOutbox',
})
  .setClassMethodName('forRoot')
  .setFactoryMethodName('createDqOutboxOptions')
  .setExtras<DqOutboxExtras>(
    { cluster: undefined, isGlobal: true },
    (definition, { cluster, isGlobal = true }) => ({
      ...definition,
      global: isGlobal,
      providers: [...(definition.providers ?? []), ...providersOf(cluster)],
      exports: [DqOutbox],
    }),
  )
  .build();

function providersOf(cluster: string | undefined): Provider[] {
  return [
    {
      provide: OutboxRelay,
      inject: [MODULE_OPTIONS_TOKEN, dqTokens.of('runtime', dqTokens.checkName(cluster))],
      useFactory: (options: DqOutboxOptions, runtime: DqRuntime) => {
        const { clock, options: ofCluster, producer } = runtime;
        return new OutboxRelay(options, { clock, options: ofCluster, producer, now: () => runtime.now() });
      },
    },
    { provide: DqOutbox, inject: [OutboxRelay], useFactory: ({ outbox }: OutboxRelay) => outbox },
  ];
}

/** An outbox in your database. Import it once, next to `DqModule`, then inject `DqOutbox`. */
@Module({})
export class DqOutboxModule
  extends ConfigurableModuleClass
  implements OnApplicationBootstrap, OnModuleDestroy
{
  /** Created by Nest. @hidden */
  constructor(@Inject(OutboxRelay) private readonly relays: OutboxRelay) {
    super();
  }

  /** With the options themselves. `DQ_CONFIG`: see `DqOutboxOptions`. */
  static override forRoot(options: DqOutboxOptions & DqOutboxExtras): DynamicModule {
    if (typeof options === 'object' && options !== null) return super.forRoot(options);
    throw new DqError(
      'DQ_CONFIG',
      `DqOutboxModule.forRoot got ${show(options)}: expected an object with \`dialect\` and \`database\``,
    );
  }

  /** With `useFactory`, or `useClass` or `useExisting` of a `DqOutboxOptionsFactory`. */
  static override forRootAsync(options: DqOutboxModuleAsyncOptions): DynamicModule {
    const misplaced = OPTION_NAMES.find((name) => name in options);
    if (misplaced === undefined) return super.forRootAsync(options);
    throw new DqError('DQ_CONFIG', `forRootAsync got \`${misplaced}\`: return it from the factory instead`);
  }

  /** Starts the relay. Called by Nest. */
  onApplicationBootstrap(): void {
    this.relays.start();
  }

  /** Stops the relay, once its round is over. Called by Nest. */
  async onModuleDestroy(): Promise<void> {
    await this.relays.relay.stop();
  }
}
