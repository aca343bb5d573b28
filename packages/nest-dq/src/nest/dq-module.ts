import {
  ConfigurableModuleBuilder,
  Module,
  type ConfigurableModuleAsyncOptions,
  type DynamicModule,
  type Provider,
} from '@nestjs/common';
import { DiscoveryModule, DiscoveryService } from '@nestjs/core';
import { DqConsumer } from '../consumer/consumer.js';
import { DqError, show } from '../errors.js';
import { DqDeadLetters } from '../producer/dead-letters.js';
import { DqProducer } from '../producer/producer.js';
import { systemClock, type Clock } from '../time.js';
import { HandlerExplorer } from './handler-explorer.js';
import { DqLifecycle } from './lifecycle.js';
import { OPTION_NAMES, resolveOptions, type DqOptions, type ResolvedOptions } from './options.js';
import { DqRuntime } from './runtime.js';
import { dqToken } from './tokens.js';

/** What is said of the module itself, beside its options. */
export interface DqExtras {
  /** Whether every module can inject the producer without importing this one. @default true */
  isGlobal?: boolean;
}

interface Extras extends DqExtras {
  /** Of the cluster; undefined is the default one. */
  name?: string;
}

const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN } = new ConfigurableModuleBuilder<DqOptions>({
  moduleName: 'Dq',
})
  .setClassMethodName('forRoot')
  .setFactoryMethodName('createDqOptions')
  .setExtras<Extras>({ isGlobal: true, name: undefined }, (definition, { isGlobal, name }) => ({
    ...definition,
    global: isGlobal,
    imports: [...(definition.imports ?? []), DiscoveryModule],
    providers: [...(definition.providers ?? []), ...clusterProviders(name)],
    exports: [DqProducer, DqConsumer, DqDeadLetters].map((what) => dqToken(what, name)),
  }))
  .build();

/** Delayed jobs: import it once, then inject `DqProducer` and decorate methods with `@DelayedHandler`. */
@Module({})
export class DqModule extends ConfigurableModuleClass {
  /** With nothing: an embedded node and ledger in memory, with a warning at each start. `DQ_CONFIG`: see `DqOptions`. */
  static override forRoot(options: DqOptions & DqExtras = {}): DynamicModule {
    if (typeof options !== 'object' || options === null) {
      throw new DqError(
        'DQ_CONFIG',
        `DqModule.forRoot was given ${show(options)}: expected options, or nothing`,
      );
    }
    refuseName(options);
    return super.forRoot(options);
  }

  /** With `useFactory`, or `useClass` or `useExisting` of a class that has a method `createDqOptions`. */
  static override forRootAsync(
    options: ConfigurableModuleAsyncOptions<DqOptions, 'createDqOptions'> & DqExtras,
  ): DynamicModule {
    refuseName(options);
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
    { provide: token('options'), useFactory: resolveOptions, inject: [MODULE_OPTIONS_TOKEN] },
    { provide: token('clock'), useValue: systemClock },
    {
      provide: token('runtime'),
      useFactory: (options: ResolvedOptions, clock: Clock) => new DqRuntime(options, clock),
      inject: [token('options'), token('clock')],
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
      provide: token('explorer'),
      useFactory: (discovery: DiscoveryService, options: ResolvedOptions) =>
        new HandlerExplorer(discovery, options),
      inject: [DiscoveryService, token('options')],
    },
    {
      provide: token('lifecycle'),
      useFactory: (...parts: ConstructorParameters<typeof DqLifecycle>) => new DqLifecycle(...parts),
      inject: [token('runtime'), token('explorer'), DiscoveryService, token('options'), token('clock')],
    },
  ];
}

/** Planned, and refused rather than ignored. */
function refuseName(extras: Extras): void {
  if (extras.name === undefined) return;
  throw new DqError(
    'DQ_CONFIG',
    `the cluster's \`name\` is ${show(extras.name)}: named clusters are not available in this version`,
  );
}
