import { Module, type ConfigurableModuleAsyncOptions, type DynamicModule } from '@nestjs/common';
import { clusterModule } from 'nest-handlers';
import { defaultLogger } from './default-logger.js';
import { ENVIRONMENT, realEnvironment, type Environment } from './environment.js';
import { DqLifecycle } from './lifecycle.js';
import { OPTION_NAMES, type DqOptions } from './options.js';
import { DqRuntime } from './runtime.js';
import { dqTokens } from './tokens.js';

/** What belongs to the module itself, beside its options. */
export interface DqExtras {
  /**
   * The name of a cluster beside the one without a name: `@InjectDq(name)` injects its producer, and handlers choose it by
   * `{ cluster: name }`. @default the one without a name
   */
  name?: string;
  /** Whether every module can inject the producer without importing this one. @default true */
  isGlobal?: boolean;
}

/** What `useClass` and `useExisting` of `forRootAsync` name. */
export interface DqOptionsFactory {
  /** Called once, at the start. */
  createDqOptions(): DqOptions | Promise<DqOptions>;
}

/** What `DqModule.forRootAsync` takes: `useFactory` with `inject`, or `useClass` or `useExisting`; `imports`. */
export type DqModuleAsyncOptions = ConfigurableModuleAsyncOptions<DqOptions, keyof DqOptionsFactory> &
  DqExtras;

/** What `forRoot` and `forRootAsync` import. */
@Module({})
class DqClusterModule {}

const modules = clusterModule(dqTokens, {
  name: 'Dq',
  module: DqClusterModule,
  optionNames: OPTION_NAMES,
  environment: { provide: ENVIRONMENT, useValue: realEnvironment },
  async runtime(given: DqOptions, environment: Environment, cluster) {
    const options = environment.resolve(given, defaultLogger(), cluster);
    const backend = environment.backend(options, cluster);
    const runtime = new DqRuntime(options, environment.clock, backend, cluster);
    await runtime.loadKeys(); // another module may add jobs before ours is made ready
    return runtime;
  },
  lifecycle: DqLifecycle,
});

/** Delayed jobs: import it once for each cluster, then inject `DqProducer` and decorate methods with `@DelayedHandler`. */
@Module({ imports: [modules.withoutOptions] })
export class DqModule {
  /**
   * Without options: an embedded node and ledger in memory, with a warning at each start, and not in production. With
   * `embedded: { dir }` they are stored. `DQ_CONFIG`: see `DqOptions`.
   */
  static forRoot(options: DqOptions & DqExtras = {}): DynamicModule {
    return modules.forRoot(options);
  }

  /** With `useFactory`, or `useClass` or `useExisting` of a `DqOptionsFactory`. */
  static forRootAsync(options: DqModuleAsyncOptions): DynamicModule {
    return modules.forRootAsync(options);
  }
}
