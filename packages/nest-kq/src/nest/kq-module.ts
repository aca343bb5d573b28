import { Module, type ConfigurableModuleAsyncOptions, type DynamicModule } from '@nestjs/common';
import { clusterModule } from 'nest-handlers';
import { ENVIRONMENT, realEnvironment, type Environment } from './environment.js';
import { KqLifecycle } from './lifecycle.js';
import { OPTION_NAMES, type KqOptions } from './options.js';
import { KqRuntime } from './runtime.js';
import { kqTokens } from './tokens.js';

/** What belongs to the module itself, beside its options. */
export interface KqExtras {
  /**
   * The name of a cluster beside the one without a name: `@InjectKq(name)` injects its pusher, and handlers choose it by
   * `{ cluster: name }`. @default the one without a name
   */
  name?: string;
  /** Whether every module can inject the pusher without importing this one. @default true */
  isGlobal?: boolean;
}

/** What `useClass` and `useExisting` of `forRootAsync` name. */
export interface KqOptionsFactory {
  /** Called once, at the start. */
  createKqOptions(): KqOptions | Promise<KqOptions>;
}

/** What `KqModule.forRootAsync` takes: `useFactory` with `inject`, or `useClass` or `useExisting`; `imports`. */
export type KqModuleAsyncOptions = ConfigurableModuleAsyncOptions<KqOptions, keyof KqOptionsFactory> &
  KqExtras;

/** What `forRoot` and `forRootAsync` import. */
@Module({})
class KqClusterModule {}

/** By which the dashboard of nest-dq finds the dead letters of each cluster. Neither package loads the other for it. */
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

/** Streams of messages: import it once for each cluster, then inject `KqPusher` and decorate methods with `@TopicHandler`. */
@Module({ imports: [modules.withoutOptions] })
export class KqModule {
  /**
   * Without options: a log in memory, with a warning at each start, and not in production. `KQ_CONFIG`: see `KqOptions`.
   */
  static forRoot(options: KqOptions & KqExtras = {}): DynamicModule {
    return modules.forRoot(options);
  }

  /** With `useFactory`, or `useClass` or `useExisting` of a `KqOptionsFactory`. */
  static forRootAsync(options: KqModuleAsyncOptions): DynamicModule {
    return modules.forRootAsync(options);
  }
}

/** What the dashboard of nest-dq shows: its `KafkaCluster`. */
export function dashboardPart({ name, deadLetters }: Pick<KqRuntime, 'name' | 'deadLetters'>) {
  return { cluster: name, letters: deadLetters };
}
