import { Module, type ConfigurableModuleAsyncOptions, type DynamicModule } from '@nestjs/common';
import { clusterModule } from 'nest-handlers';
import { defaultLogger } from './default-logger.js';
import { ENVIRONMENT, realEnvironment, type Environment } from './environment.js';
import { DqLifecycle } from './lifecycle.js';
import { OPTION_NAMES, type DqOptions } from './options.js';
import { DqRuntime } from './runtime.js';
import { dqTokens } from './tokens.js';

/** Settings of the module itself, next to its options. */
export interface DqExtras {
  /**
   * Name of this cluster, if it isn't the unnamed one: `@InjectDq(name)` injects its producer, and handlers select it with
   * `{ cluster: name }`. @default the unnamed cluster
   */
  name?: string;
  /** Whether every module can inject the producer without importing this one. @default true */
  isGlobal?: boolean;
}

/** Interface of a class passed to `forRootAsync` as `useClass` or `useExisting`. */
export interface DqOptionsFactory {
  /** Returns the options. Called once, at startup. */
  createDqOptions(): DqOptions | Promise<DqOptions>;
}

/** Options of `DqModule.forRootAsync`: `useFactory` with `inject`, or `useClass` or `useExisting`; `imports`. */
export type DqModuleAsyncOptions = ConfigurableModuleAsyncOptions<DqOptions, keyof DqOptionsFactory> &
  DqExtras;

/** Module imported by `forRoot` and `forRootAsync`. */
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

/** Delayed jobs for Nest: import it once per cluster, then inject `DqProducer` and decorate methods with `@DelayedHandler`. */
@Module({ imports: [modules.withoutOptions] })
export class DqModule {
  /**
   * Without options: an embedded node and ledger in memory, with a warning at every start; not allowed in production.
   * `embedded: { dir }` makes them persistent. `DQ_CONFIG`: see `DqOptions`.
   */
  static forRoot(options: DqOptions & DqExtras = {}): DynamicModule {
    return modules.forRoot(options);
  }

  /** Takes options from `useFactory`, or from a `DqOptionsFactory` by `useClass` or `useExisting`. */
  static forRootAsync(options: DqModuleAsyncOptions): DynamicModule {
    return modules.forRootAsync(options);
  }
}
