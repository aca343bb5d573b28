/**
 * A dashboard inside the Nest application: what waits, what comes due, what failed, and what to do about it.
 * @module nest-dq/dashboard
 */
import {
  ConfigurableModuleBuilder,
  Module,
  forwardRef,
  type ConfigurableModuleAsyncOptions,
  type DynamicModule,
  type Provider,
} from '@nestjs/common';
import { ApplicationConfig, HttpAdapterHost, ModuleRef, ModulesContainer } from '@nestjs/core';
import { DqError, show } from '../errors.js';
import { makeController } from './controller.js';
import { Dashboard } from './dashboard.js';
import {
  NO_EXTRAS,
  OPTION_NAMES,
  checkOptions,
  resolveExtras,
  type DqDashboardExtras,
  type DqDashboardOptions,
  type ResolvedExtras,
} from './options.js';

export type {
  DqDashboardAccess,
  DqDashboardEnvironment,
  DqDashboardExtras,
  DqDashboardJob,
  DqDashboardMessage,
  DqDashboardOptions,
} from './options.js';
export type { ActName as DqDashboardAct } from './wire.js';

/** The class named by `useClass` or `useExisting` of `forRootAsync`. */
export interface DqDashboardOptionsFactory {
  /** Called once, at the start. */
  createDqDashboardOptions(): DqDashboardOptions | Promise<DqDashboardOptions>;
}

/** Options of `DqDashboardModule.forRootAsync`: `useFactory` with `inject`, or `useClass` or `useExisting`. */
export type DqDashboardModuleAsyncOptions = ConfigurableModuleAsyncOptions<
  DqDashboardOptions,
  keyof DqDashboardOptionsFactory
> &
  DqDashboardExtras;

const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN } = new ConfigurableModuleBuilder<DqDashboardOptions>({
  moduleName: 'DqDashboard',
})
  .setClassMethodName('forRoot')
  .setFactoryMethodName('createDqDashboardOptions')
  .setExtras<DqDashboardExtras>(NO_EXTRAS, (definition, extras) => {
    const resolved = resolveExtras(extras);
    return {
      ...definition,
      module: DqMountedDashboardModule,
      imports: extras.imports ?? [], // also those of `forRootAsync`
      controllers: [makeController(resolved)],
      providers: [...(definition.providers ?? []), dashboardProvider(resolved)],
    };
  })
  .build();

function dashboardProvider(extras: ResolvedExtras): Provider {
  const { path, cluster } = extras;
  const make = (
    options: DqDashboardOptions,
    module: ModuleRef,
    modules: ModulesContainer,
    host: HttpAdapterHost,
    config: ApplicationConfig,
  ) => {
    const { open } = checkOptions(options, extras);
    return new Dashboard(options, cluster, path, open, module, modules, host, config);
  };
  const inject = [MODULE_OPTIONS_TOKEN, ModuleRef, ModulesContainer, HttpAdapterHost, ApplicationConfig];
  return { provide: Dashboard, inject, useFactory: make };
}

/** The module imported by `forRoot` and `forRootAsync`. */
@Module({})
class DqMountedDashboardModule {}

/** Nest resolves it if `imports` lists `DqDashboardModule` itself, which then gets the error. */
const withoutOptions = forwardRef(() => {
  throw new DqError(
    'DQ_CONFIG',
    '`imports` lists DqDashboardModule itself: expected DqDashboardModule.forRoot(…) or DqDashboardModule.forRootAsync(…)',
  );
});

/** Mounts the dashboard of one cluster. Import it once for each cluster that has one, next to its `DqModule`. */
@Module({ imports: [withoutOptions] })
export class DqDashboardModule extends ConfigurableModuleClass {
  /**
   * Requires `guards` or `access` unless NODE_ENV is empty, `development` or `test`: otherwise everybody could do everything. In
   * those environments, without either, only requests from this machine are answered. Throws `DQ_CONFIG` if both are missing or
   * an option is wrong.
   */
  static override forRoot(options: DqDashboardOptions & DqDashboardExtras = {}): DynamicModule {
    if (typeof options !== 'object' || options === null) {
      const given = `DqDashboardModule.forRoot got ${show(options)}`;
      throw new DqError('DQ_CONFIG', `${given}: expected an options object or nothing`);
    }
    return super.forRoot(options);
  }

  /** With `useFactory`, or `useClass` or `useExisting` of a `DqDashboardOptionsFactory`. */
  static override forRootAsync(options: DqDashboardModuleAsyncOptions): DynamicModule {
    const misplaced = OPTION_NAMES.find((name) => name in options);
    if (misplaced !== undefined) {
      const given = `forRootAsync got \`${misplaced}\``;
      throw new DqError('DQ_CONFIG', `${given}: return it from the factory instead`);
    }
    return super.forRootAsync(options);
  }
}
