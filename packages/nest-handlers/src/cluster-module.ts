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

/** Options of the Nest module itself. */
export interface ClusterExtras {
  /** Cluster name. @default none: the application's only cluster, or its first */
  name?: string;
  /** Whether other modules can inject its parts without importing it. @default true */
  isGlobal?: boolean;
}

/** Parts of a library's module. */
export interface ClusterModuleParts<Options, Environment, Runtime> {
  /** Class name without `Module`: `'Dq'`. */
  readonly name: string;
  /** The class imported by `forRoot` and `forRootAsync`. */
  readonly module: Type;
  /** Options that belong in the result of `forRootAsync`'s factory. */
  readonly optionNames: readonly string[];
  /** Overridden by test kits. */
  readonly environment: ValueProvider<Environment>;
  /** Creates the parts of a cluster. */
  runtime(options: Options, environment: Environment, cluster?: string): Runtime | Promise<Runtime>;
  /** Starts and stops them with the application. */
  readonly lifecycle: new (runtime: Runtime, phase: RunPhase, nest: NestParts) => object;
  /** Returns further providers, given the token of the runtime. */
  readonly more?: (runtime: InjectionToken) => Provider[];
}

/**
 * The static methods of a library's module, which an application imports once per cluster. They throw the kind's configuration
 * error.
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
      // The runtime is exported for other modules of the library.
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
    /** Resolved by Nest if `imports` contains the library's module class itself, which then gets the error. */
    withoutOptions: forwardRef(() => {
      const { module } = kind;
      throw kind.configError(
        `\`imports\` lists ${module} itself: expected ${module}.forRoot(…) or ${module}.forRootAsync(…) once in the application and not in other modules, since it is global`,
      );
    }),

    /** Returns the module of a cluster with these options. */
    forRoot(options: Options & ClusterExtras): DynamicModule {
      if (typeof options !== 'object' || options === null) {
        const given = kind.show(withoutSecrets(options));
        throw kind.configError(`${kind.module}.forRoot got ${given}: expected an options object or nothing`);
      }
      tokens.checkName(options.name);
      return ConfigurableModuleClass.forRoot(options);
    },

    /** Returns the module of a cluster whose options come from a factory. */
    forRootAsync(options: ConfigurableModuleAsyncOptions<Options, string> & ClusterExtras): DynamicModule {
      tokens.checkName(options.name);
      const misplaced = parts.optionNames.find((name) => name in options);
      if (misplaced === undefined) return ConfigurableModuleClass.forRootAsync(options);
      throw kind.configError(
        `forRootAsync got \`${misplaced}\`, which belongs in the options its factory returns`,
      );
    },
  };
}
