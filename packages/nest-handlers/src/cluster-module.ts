import {
  ConfigurableModuleBuilder,
  forwardRef,
  type ConfigurableModuleAsyncOptions,
  type DynamicModule,
  type InjectionToken,
  type Provider,
  type Type,
  type ValueProvider,
} from '@nestjs/common';
import type { ClusterTokens } from './cluster-tokens.js';
import { HandlersModule } from './handlers-module.js';
import { NestParts } from './nest-parts.js';
import { RunPhase } from './run-phase.js';
import { withoutSecrets } from './secrets.js';

/** What a module has beside its options. */
export interface ClusterExtras {
  /** The name of the cluster. @default none: the application's only one, or its first */
  name?: string;
  /** Whether other modules may inject its parts without importing it. @default true */
  isGlobal?: boolean;
}

/** What the module of a library consists of. */
export interface ClusterModuleParts<Options, Environment, Runtime> {
  /** The name of its class without `Module`: `'Dq'`. */
  readonly name: string;
  /** The class that `forRoot` and `forRootAsync` import. */
  readonly module: Type;
  /** Those that belong in what the factory of `forRootAsync` returns. */
  readonly optionNames: readonly string[];
  /** Test kits override this one. */
  readonly environment: ValueProvider<Environment>;
  /** Makes all parts of a cluster. */
  runtime(options: Options, environment: Environment, cluster?: string): Runtime | Promise<Runtime>;
  /** Starts and ends them with the application. */
  readonly lifecycle: new (runtime: Runtime, phase: RunPhase, nest: NestParts) => object;
  /** More providers, given the token of the runtime. */
  readonly more?: (runtime: InjectionToken) => Provider[];
}

/**
 * The static methods of a library's module, of which an application imports one for each cluster. What they throw is the
 * kind's error of configuration.
 */
export function clusterModule<
  Options extends object,
  Environment,
  Name extends string,
  Runtime extends Readonly<Record<Name, object>>,
>(tokens: ClusterTokens<Function, Name>, parts: ClusterModuleParts<Options, Environment, Runtime>) {
  const { kind } = tokens;
  const { environment, lifecycle: Lifecycle } = parts;
  const injectables = Object.entries<Function>(tokens.injectables);

  const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN } = new ConfigurableModuleBuilder<Options>({
    moduleName: parts.name,
  })
    .setClassMethodName('forRoot')
    .setFactoryMethodName(`create${parts.name}Options`)
    .setExtras<ClusterExtras>({ isGlobal: true, name: undefined }, (definition, { isGlobal, name }) => ({
      ...definition,
      module: parts.module,
      global: isGlobal,
      imports: [...(definition.imports ?? []), HandlersModule],
      providers: [...(definition.providers ?? []), environment, ...providersOf(name)],
      // The runtime is for other modules of the library.
      exports: [...injectables.map(([, type]) => tokens.of(type, name)), tokens.of('runtime', name)],
    }))
    .build();

  function providersOf(cluster: string | undefined): Provider[] {
    const runtime = tokens.of('runtime', cluster);
    return [
      {
        provide: runtime,
        inject: [MODULE_OPTIONS_TOKEN, environment.provide],
        useFactory: (options: Options, given: Environment) => parts.runtime(options, given, cluster),
      },
      ...injectables.map(([name, type]) => ({
        provide: tokens.of(type, cluster),
        inject: [runtime],
        useFactory: (made: Runtime) => made[name as Name],
      })),
      {
        provide: tokens.of('lifecycle', cluster),
        inject: [runtime, RunPhase, NestParts],
        useFactory: (...made: [Runtime, RunPhase, NestParts]) => new Lifecycle(...made),
      },
      ...(parts.more?.(runtime) ?? []),
    ];
  }

  return {
    /** Nest resolves it where `imports` has the library's module itself, and so gets the error. */
    withoutOptions: forwardRef(() => {
      const { module } = kind;
      throw kind.configError(
        `\`imports\` has ${module} itself: expected ${module}.forRoot(…) or ${module}.forRootAsync(…) once in the application, and none in other modules, as it is global`,
      );
    }),

    /** A cluster with these options. */
    forRoot(options: Options & ClusterExtras): DynamicModule {
      if (typeof options !== 'object' || options === null) {
        const given = kind.show(withoutSecrets(options));
        throw kind.configError(`${kind.module}.forRoot was given ${given}: expected options, or nothing`);
      }
      tokens.checkName(options.name);
      return ConfigurableModuleClass.forRoot(options);
    },

    /** A cluster whose options a factory makes, with what it injects. */
    forRootAsync(options: ConfigurableModuleAsyncOptions<Options, string> & ClusterExtras): DynamicModule {
      tokens.checkName(options.name);
      const misplaced = parts.optionNames.find((name) => name in options);
      if (misplaced === undefined) return ConfigurableModuleClass.forRootAsync(options);
      throw kind.configError(
        `forRootAsync was given \`${misplaced}\`, which belongs in what its factory returns`,
      );
    },
  };
}
