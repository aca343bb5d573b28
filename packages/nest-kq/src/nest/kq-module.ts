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
import { KqDeadLetters } from '../dead-letters/kq-dead-letters.js';
import { KqError, show } from '../errors.js';
import { KqEvents } from '../events/events.js';
import { KqGroups } from '../groups/kq-groups.js';
import { KqHealth } from '../health/health.js';
import { KqPusher } from '../pusher/pusher.js';
import { ENVIRONMENT, realEnvironment, type Environment } from './environment.js';
import { KqLifecycle } from './lifecycle.js';
import { OPTION_NAMES, type KqOptions } from './options.js';
import { KqRuntime } from './runtime.js';
import { INJECTABLES, checkClusterName, kqToken, type KqInjectable, type KqPart } from './tokens.js';

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

const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN } = new ConfigurableModuleBuilder<KqOptions>({
  moduleName: 'Kq',
})
  .setClassMethodName('forRoot')
  .setFactoryMethodName('createKqOptions')
  .setExtras<KqExtras>({ isGlobal: true, name: undefined }, (definition, { isGlobal, name }) => ({
    ...definition,
    module: KqClusterModule,
    global: isGlobal,
    imports: [...(definition.imports ?? []), HandlersModule],
    providers: [...(definition.providers ?? []), ...clusterProviders(name)],
    // The runtime is for `nest-kq/dq`.
    exports: [...INJECTABLES, 'runtime' as const].map((what) => kqToken(what, name)),
  }))
  .build();

/** What `forRoot` and `forRootAsync` import. */
@Module({})
class KqClusterModule {}

/** Nest resolves it where `imports` has `KqModule` itself, and so gets the error. */
const withoutOptions = forwardRef(() => {
  throw new KqError(
    'KQ_CONFIG',
    '`imports` has KqModule itself: expected KqModule.forRoot(…) or KqModule.forRootAsync(…) once in the application, and none in other modules, as it is global',
  );
});

/** Streams of messages: import it once for each cluster, then inject `KqPusher` and decorate methods with `@TopicHandler`. */
@Module({ imports: [withoutOptions] })
export class KqModule extends ConfigurableModuleClass {
  /**
   * Without options: a log in memory, with a warning at each start, and not in production. `KQ_CONFIG`: see `KqOptions`.
   */
  static override forRoot(options: KqOptions & KqExtras = {}): DynamicModule {
    if (typeof options !== 'object' || options === null) {
      throw new KqError(
        'KQ_CONFIG',
        `KqModule.forRoot was given ${show(withoutSecrets(options))}: expected options, or nothing`,
      );
    }
    checkName(options);
    return super.forRoot(options);
  }

  /** With `useFactory`, or `useClass` or `useExisting` of a `KqOptionsFactory`. */
  static override forRootAsync(options: KqModuleAsyncOptions): DynamicModule {
    checkName(options);
    for (const name of OPTION_NAMES) {
      if (name in options) {
        throw new KqError(
          'KQ_CONFIG',
          `forRootAsync was given \`${name}\`, which belongs in what its factory returns`,
        );
      }
    }
    return super.forRootAsync(options);
  }
}

/** By which the dashboard of nest-dq finds the dead letters of each cluster. Neither package loads the other for it. */
const DASHBOARD = Symbol.for('nest-dq/dashboard:kafka');

/** All providers of one cluster. */
function clusterProviders(cluster: string | undefined): Provider[] {
  const provide = (
    what: KqInjectable | KqPart,
    inject: InjectionToken[],
    useFactory: (...injected: any[]) => unknown,
  ): Provider => ({ provide: kqToken(what, cluster), inject, useFactory });
  const runtime = kqToken('runtime', cluster);
  return [
    { provide: ENVIRONMENT, useValue: realEnvironment },
    provide('runtime', [MODULE_OPTIONS_TOKEN, ENVIRONMENT], (given: KqOptions, environment: Environment) => {
      return new KqRuntime(environment.resolve(given, cluster), environment, cluster);
    }),
    provide(KqPusher, [runtime], ({ pusher }: KqRuntime) => pusher),
    provide(KqEvents, [runtime], ({ events }: KqRuntime) => events),
    provide(KqHealth, [runtime], ({ health }: KqRuntime) => health),
    provide(KqGroups, [runtime], ({ groups }: KqRuntime) => groups),
    provide(KqDeadLetters, [runtime], ({ deadLetters }: KqRuntime) => deadLetters),
    { provide: DASHBOARD, inject: [runtime], useFactory: dashboardPart },
    provide(
      'lifecycle',
      [runtime, RunPhase, NestParts],
      (...parts: ConstructorParameters<typeof KqLifecycle>) => new KqLifecycle(...parts),
    ),
  ];
}

/** What the dashboard of nest-dq shows: its `KafkaCluster`. */
export function dashboardPart({ name, deadLetters }: Pick<KqRuntime, 'name' | 'deadLetters'>) {
  return { cluster: name, letters: deadLetters };
}

function checkName({ name }: KqExtras): void {
  if (name !== undefined) checkClusterName(name);
}
