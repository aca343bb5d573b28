import { Module, type ConfigurableModuleAsyncOptions, type DynamicModule } from '@nestjs/common';
import { clusterModule } from 'nest-handlers';
import { ENVIRONMENT, realEnvironment, type Environment } from './environment.js';
import { KqLifecycle } from './lifecycle.js';
import { OPTION_NAMES, type KqOptions } from './options.js';
import { KqRuntime } from './runtime.js';
import { kqTokens } from './tokens.js';

/** Options of the Nest module itself. */
export interface KqExtras {
  /**
   * Name of an additional cluster: `@InjectKq(name)` injects its pusher, and handlers select it by `{ cluster: name }`.
   * @default the cluster without a name
   */
  name?: string;
  /** Whether every module can inject the pusher without importing this one. @default true */
  isGlobal?: boolean;
}

/** The class for `useClass` and `useExisting` of `forRootAsync`. */
export interface KqOptionsFactory {
  /** Returns the options. Called once, at startup. */
  createKqOptions(): KqOptions | Promise<KqOptions>;
}

/** Options of `KqModule.forRootAsync`: `useFactory` with `inject`, or `useClass`, or `useExisting`; and `imports`. */
export type KqModuleAsyncOptions = ConfigurableModuleAsyncOptions<KqOptions, keyof KqOptionsFactory> &
  KqExtras;

/** The module behind `forRoot` and `forRootAsync`. */
@Module({})
class KqClusterModule {}

/** The token by which the nest-dq dashboard finds the dead letters of each cluster, without either package loading the other. */
const DASHBOARD = Symbol.for('nest-dq/dashboard:kafka');

const modules = clusterModule(kqTokens, {
  name: 'Kq',
  module: KqClusterModule,
  optionNames: OPTION_NAMES,
  environment: { provide: ENVIRONMENT, useValue: realEnvironment },
  runtime: (given: KqOptions, environment: Environment, cluster) =>
    KqRuntime.make(environment, environment.resolve(given, cluster), cluster),
  lifecycle: KqLifecycle,
  more: (runtime) => [{ provide: DASHBOARD, inject: [runtime], useFactory: dashboardPart }],
});

/** Streams of messages: import it once per cluster, then inject `KqPusher` and decorate methods with `@TopicHandler`. */
@Module({ imports: [modules.withoutOptions] })
export class KqModule {
  /** Without options: a log in memory, with a warning at each start, and refused in production. `KQ_CONFIG`: see `KqOptions`. */
  static forRoot(options: KqOptions & KqExtras = {}): DynamicModule {
    return modules.forRoot(options);
  }

  /** Takes `useFactory`, or `useClass` or `useExisting` with a `KqOptionsFactory`. */
  static forRootAsync(options: KqModuleAsyncOptions): DynamicModule {
    return modules.forRootAsync(options);
  }
}

/** Returns the `KafkaCluster` for the nest-dq dashboard. */
export function dashboardPart({ name, deadLetters }: Pick<KqRuntime, 'name' | 'deadLetters'>) {
  return { cluster: name, letters: deadLetters };
}
