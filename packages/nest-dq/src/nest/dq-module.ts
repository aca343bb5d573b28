import { withoutSecrets } from 'nest-handlers/log';
import {
  ConfigurableModuleBuilder,
  Module,
  forwardRef,
  type ConfigurableModuleAsyncOptions,
  type DynamicModule,
  type InjectionToken,
  type Provider,
} from '@nestjs/common';
import { HandlersModule, NestParts, RunPhase } from 'nest-handlers';
import { DqConsumer } from '../consumer/consumer.js';
import { DqError, show } from '../errors.js';
import { DqEvents } from '../events/events.js';
import { DqHealth } from '../health/health.js';
import { DqControl } from '../operate/control.js';
import { DqInspector } from '../operate/inspector.js';
import { DqDeadLetters } from '../producer/dead-letters.js';
import { DqProducer } from '../producer/producer.js';
import { defaultLogger } from './default-logger.js';
import { ENVIRONMENT, realEnvironment, type Environment } from './environment.js';
import { DqLifecycle } from './lifecycle.js';
import { OPTION_NAMES, type DqOptions } from './options.js';
import { DqRuntime } from './runtime.js';
import { INJECTABLES, checkClusterName, dqToken, type DqInjectable, type DqPart } from './tokens.js';

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

const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN } = new ConfigurableModuleBuilder<DqOptions>({
  moduleName: 'Dq',
})
  .setClassMethodName('forRoot')
  .setFactoryMethodName('createDqOptions')
  .setExtras<DqExtras>({ isGlobal: true, name: undefined }, (definition, { isGlobal, name }) => ({
    ...definition,
    module: DqClusterModule,
    global: isGlobal,
    imports: [...(definition.imports ?? []), HandlersModule],
    providers: [...(definition.providers ?? []), ...clusterProviders(name)],
    exports: INJECTABLES.map((what) => dqToken(what, name)),
  }))
  .build();

/** What `forRoot` and `forRootAsync` import. */
@Module({})
class DqClusterModule {}

/** Nest resolves it where `imports` has `DqModule` itself, and so gets the error. */
const withoutOptions = forwardRef(() => {
  throw new DqError(
    'DQ_CONFIG',
    '`imports` has DqModule itself: expected DqModule.forRoot(…) or DqModule.forRootAsync(…) once in the application, and none in other modules, as it is global',
  );
});

/** Delayed jobs: import it once for each cluster, then inject `DqProducer` and decorate methods with `@DelayedHandler`. */
@Module({ imports: [withoutOptions] })
export class DqModule extends ConfigurableModuleClass {
  /**
   * Without options: an embedded node and ledger in memory, with a warning at each start, and not in production. With
   * `embedded: { dir }` they are stored. `DQ_CONFIG`: see `DqOptions`.
   */
  static override forRoot(options: DqOptions & DqExtras = {}): DynamicModule {
    if (typeof options !== 'object' || options === null) {
      throw new DqError(
        'DQ_CONFIG',
        `DqModule.forRoot was given ${show(withoutSecrets(options))}: expected options, or nothing`,
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

/** All providers of one cluster. */
function clusterProviders(cluster: string | undefined): Provider[] {
  const provide = (
    what: DqInjectable | DqPart,
    inject: InjectionToken[],
    useFactory: (...injected: any[]) => unknown,
  ): Provider => ({ provide: dqToken(what, cluster), inject, useFactory });
  const runtime = dqToken('runtime', cluster);
  return [
    { provide: ENVIRONMENT, useValue: realEnvironment },
    provide(
      'runtime',
      [MODULE_OPTIONS_TOKEN, ENVIRONMENT],
      async (given: DqOptions, environment: Environment) => {
        const options = environment.resolve(given, defaultLogger(), cluster);
        const runtime = new DqRuntime(
          options,
          environment.clock,
          environment.backend(options, cluster),
          cluster,
        );
        await runtime.loadKeys(); // another module may add jobs before ours is made ready
        return runtime;
      },
    ),
    provide(DqProducer, [runtime], ({ producer }: DqRuntime) => producer),
    provide(DqConsumer, [runtime], ({ consumer }: DqRuntime) => consumer),
    provide(DqDeadLetters, [runtime], ({ deadLetters }: DqRuntime) => deadLetters),
    provide(DqInspector, [runtime], ({ inspector }: DqRuntime) => inspector),
    provide(DqControl, [runtime], ({ control }: DqRuntime) => control),
    provide(DqEvents, [runtime], ({ events }: DqRuntime) => events),
    provide(DqHealth, [runtime], ({ health }: DqRuntime) => health),
    provide(
      'lifecycle',
      [runtime, RunPhase, NestParts],
      (...parts: ConstructorParameters<typeof DqLifecycle>) => new DqLifecycle(...parts),
    ),
  ];
}

function checkName({ name }: DqExtras): void {
  if (name !== undefined) checkClusterName(name);
}
