import {
  ConfigurableModuleBuilder,
  Module,
  forwardRef,
  type ConfigurableModuleAsyncOptions,
  type DynamicModule,
  type Provider,
} from '@nestjs/common';
import { ApplicationConfig, DiscoveryModule, DiscoveryService } from '@nestjs/core';
import { DqConsumer } from '../consumer/consumer.js';
import { DqError, show } from '../errors.js';
import { DqEvents } from '../events/events.js';
import { DqHealth } from '../health/health.js';
import { DqDeadLetters } from '../producer/dead-letters.js';
import { DqProducer } from '../producer/producer.js';
import type { Clock } from '../time/clock.js';
import { ENVIRONMENT, realEnvironment, type Backend, type Environment } from './environment.js';
import { HandlerExplorer } from './handler-explorer.js';
import { HandlerInvoker } from './handler-invoker.js';
import { DqLifecycle } from './lifecycle.js';
import { ListenerExplorer } from './listener-explorer.js';
import { OPTION_NAMES, type DqOptions, type ResolvedOptions } from './options.js';
import { DqRunPhaseModule, RunPhase } from './run-phase.js';
import { DqRuntime } from './runtime.js';
import { INJECTABLES, checkClusterName, dqToken } from './tokens.js';

/** What is said of the module itself, beside its options. */
export interface DqExtras {
  /**
   * Of a cluster beside the one without a name: `@InjectDq(name)` injects its producer, and handlers choose it by
   * `{ cluster: name }`. @default the one without a name
   */
  name?: string;
  /** Whether every module can inject the producer without importing this one. @default true */
  isGlobal?: boolean;
}

/** What `useClass` and `useExisting` of `forRootAsync` name. */
export interface DqOptionsFactory {
  /** Is called once, at the start. */
  createDqOptions(): DqOptions | Promise<DqOptions>;
}

/** What `DqModule.forRootAsync` takes: `useFactory` with `inject`, or `useClass` or `useExisting`; `imports`. */
export type DqModuleAsyncOptions = ConfigurableModuleAsyncOptions<DqOptions, keyof DqOptionsFactory> &
  DqExtras;

const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN } = new ConfigurableModuleBuilder<DqOptions>({
  moduleName: 'Dq',
})
  .setClassMethodName('forRoot')
  .setFactoryMethodName('createDqOptions')
  .setExtras<DqExtras>({ isGlobal: true, name: undefined }, (definition, { isGlobal, name }) => ({
    ...definition,
    module: DqClusterModule,
    global: isGlobal,
    imports: [...(definition.imports ?? []), DiscoveryModule, DqRunPhaseModule],
    providers: [...(definition.providers ?? []), ...clusterProviders(name)],
    exports: INJECTABLES.map((what) => dqToken(what, name)),
  }))
  .build();

/** What `forRoot` and `forRootAsync` import. */
@Module({})
class DqClusterModule {}

/** Nest asks for it where it finds `DqModule` itself among imports. */
const withoutOptions = forwardRef(() => {
  throw new DqError(
    'DQ_CONFIG',
    '`imports` has DqModule itself: expected DqModule.forRoot(…) or DqModule.forRootAsync(…) once in the application, and none in other modules, as it is global',
  );
});

/** Delayed jobs: import it once for each cluster, then inject `DqProducer` and decorate methods with `@DelayedHandler`. */
@Module({ imports: [withoutOptions] })
export class DqModule extends ConfigurableModuleClass {
  /** With nothing: an embedded node and ledger in memory, with a warning at each start, and not in production; `embedded: { dir }` keeps them. `DQ_CONFIG`: see `DqOptions`. */
  static override forRoot(options: DqOptions & DqExtras = {}): DynamicModule {
    if (typeof options !== 'object' || options === null) {
      throw new DqError(
        'DQ_CONFIG',
        `DqModule.forRoot was given ${show(options)}: expected options, or nothing`,
      );
    }
    checkName(options);
    return super.forRoot(options);
  }

  /** With `useFactory`, or `useClass` or `useExisting` of a `DqOptionsFactory`. */
  static override forRootAsync(options: DqModuleAsyncOptions): DynamicModule {
    checkName(options);
    for (const name of OPTION_NAMES) {
      if (name in options) {
        throw new DqError(
          'DQ_CONFIG',
          `forRootAsync was given \`${name}\`, which belongs in what its factory returns`,
        );
      }
    }
    return super.forRootAsync(options);
  }
}

/** All that stands behind one cluster. */
function clusterProviders(cluster: string | undefined): Provider[] {
  const token = (...[what]: Parameters<typeof dqToken>) => dqToken(what, cluster);
  return [
    {
      provide: token('options'),
      useFactory: (options: DqOptions, environment: Environment) => environment.resolve(options, cluster),
      inject: [MODULE_OPTIONS_TOKEN, ENVIRONMENT],
    },
    { provide: ENVIRONMENT, useValue: realEnvironment },
    {
      provide: token('clock'),
      useFactory: ({ clock }: Environment) => clock,
      inject: [ENVIRONMENT],
    },
    {
      provide: token('backend'),
      useFactory: (options: ResolvedOptions, clock: Clock, environment: Environment): Backend =>
        environment.backend(options, { clock, name: cluster }),
      inject: [token('options'), token('clock'), ENVIRONMENT],
    },
    {
      provide: token('runtime'),
      useFactory: (options: ResolvedOptions, clock: Clock, backend: Backend) =>
        new DqRuntime(options, clock, backend, cluster),
      inject: [token('options'), token('clock'), token('backend')],
    },
    {
      provide: token(DqProducer),
      useFactory: ({ producer }: DqRuntime) => producer,
      inject: [token('runtime')],
    },
    {
      provide: token(DqConsumer),
      useFactory: ({ consumer }: DqRuntime) => consumer,
      inject: [token('runtime')],
    },
    {
      provide: token(DqDeadLetters),
      useFactory: ({ deadLetters }: DqRuntime) => deadLetters,
      inject: [token('runtime')],
    },
    {
      provide: token(DqEvents),
      useFactory: ({ events }: DqRuntime) => events,
      inject: [token('runtime')],
    },
    {
      provide: token(DqHealth),
      useFactory: ({ health }: DqRuntime) => health,
      inject: [token('runtime')],
    },
    {
      provide: token('listeners'),
      useFactory: (discovery: DiscoveryService, { events }: DqRuntime) =>
        new ListenerExplorer(discovery, events, cluster),
      inject: [DiscoveryService, token('runtime')],
    },
    {
      provide: token('explorer'),
      useFactory: (discovery: DiscoveryService, config: ApplicationConfig, options: ResolvedOptions) =>
        new HandlerExplorer(discovery, new HandlerInvoker(config, options.logger), options, cluster),
      inject: [DiscoveryService, ApplicationConfig, token('options')],
    },
    {
      provide: token('lifecycle'),
      useFactory: (
        runtime: DqRuntime,
        explorer: HandlerExplorer,
        listeners: ListenerExplorer,
        phase: RunPhase,
        options: ResolvedOptions,
        clock: Clock,
      ) => new DqLifecycle(runtime, explorer, listeners, phase, options, clock, cluster),
      inject: [
        token('runtime'),
        token('explorer'),
        token('listeners'),
        RunPhase,
        token('options'),
        token('clock'),
      ],
    },
  ];
}

function checkName({ name }: DqExtras): void {
  if (name !== undefined) checkClusterName(name);
}
