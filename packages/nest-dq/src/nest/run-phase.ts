import {
  Injectable,
  Module,
  type DynamicModule,
  type InjectionToken,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
} from '@nestjs/common';
import { LazyModuleLoader, ModuleRef, ModulesContainer } from '@nestjs/core';
import type { NestModule } from './found-methods.js';

/** Runs only while every module of the application works. */
export interface RunPhaseMember {
  /** The name of its cluster; undefined: the one without a name. */
  readonly cluster?: string | undefined;
  begin(): Promise<void>;
  /** Modules were loaded lazily. Nest calls none of their hooks. */
  loaded(modules: ReadonlySet<NestModule>): Promise<void>;
  /** Never rejects: in Nest 11 that would end the shutdown of all others. Idempotent, and allowed without `begin`. */
  end(): Promise<void>;
  /** After `end`: closes what it has opened. Never rejects. Idempotent. */
  close(): Promise<void>;
}

/**
 * The time from the end of the last module's `onApplicationBootstrap` to the first `onModuleDestroy`. An application has
 * one, for all of its clusters: they begin and end together.
 */
@Injectable()
export class RunPhase implements OnApplicationBootstrap, OnModuleDestroy {
  readonly members = new Set<RunPhaseMember>();

  constructor(private readonly modules: ModulesContainer) {}

  /**
   * The names of the modules whose decorators import something that exports this token. In Nest's own list of imports
   * global modules are everywhere. Imports of dynamic modules are in neither.
   */
  importersOf(token: InjectionToken): string[] {
    const exporting = (each?: Partial<DynamicModule>) => each?.exports?.includes(token as never) ?? false;
    return Array.from(this.modules.values())
      .filter(({ metatype }) => {
        const imports = Reflect.getMetadata('imports', metatype) as DynamicModule[] | undefined;
        return imports?.some(exporting);
      })
      .map(({ name }) => name);
  }

  async onApplicationBootstrap(): Promise<void> {
    await this.orGiveUp(Promise.all(Array.from(this.members, (member) => member.begin())));
  }

  /**
   * Awaits a step of the start. If it fails, the start of the application fails, and Nest calls no hook of that: so all
   * members are ended and closed before it rejects.
   */
  async orGiveUp(step: Promise<unknown>): Promise<void> {
    try {
      await step;
    } catch (error) {
      await this.onModuleDestroy();
      await Promise.all(Array.from(this.members, (member) => member.close()));
      throw error;
    }
  }

  async loaded(modules: ReadonlySet<NestModule>): Promise<void> {
    await Promise.all(Array.from(this.members, (member) => member.loaded(modules)));
  }

  async onModuleDestroy(): Promise<void> {
    await Promise.all(Array.from(this.members, (member) => member.end()));
  }
}

/** The distance of a module that is made ready after all others, and ended before them. */
const NEAREST = -Number.MAX_VALUE;

/**
 * Nest makes modules ready in the order of their distance from the root module, the farthest first, and ends them in the
 * opposite order. For Nest a global module is the farthest of all, and handlers usually need the databases of one.
 */
@Module({ providers: [RunPhase], exports: [RunPhase] })
export class DqRunPhaseModule {
  constructor(modules: ModulesContainer, loader: LazyModuleLoader, phase: RunPhase) {
    // Nest reads the distances once, after all modules were made.
    for (const module of modules.values()) {
      if (module.metatype === DqRunPhaseModule) module.distance = NEAREST;
    }
    // Nest tells nobody of a module that it loads lazily.
    const load = loader.load.bind(loader);
    loader.load = async (...args) => {
      const loaded = await load(...args);
      const module = Array.from(modules.values()).find((each) => refOf(each) === loaded);
      if (module) await phase.loaded(withImports(module));
      return loaded;
    };
  }
}

function refOf(module: NestModule): unknown {
  return module.getProviderByKey(ModuleRef)?.instance;
}

function withImports(module: NestModule, found = new Set<NestModule>()): Set<NestModule> {
  if (!found.has(module)) {
    found.add(module);
    for (const each of module.imports) withImports(each, found);
  }
  return found;
}
