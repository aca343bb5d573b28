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

/** What goes on only while every module of the application works. */
export interface RunPhaseMember {
  /** Its cluster's name; undefined is that of the one without a name. */
  readonly cluster?: string | undefined;
  begin(): Promise<void>;
  /** Modules were made while the application is there: Nest calls none of their hooks. */
  loaded(modules: ReadonlySet<NestModule>): Promise<void>;
  /** Never rejects: in Nest 11 that would end the shutdown of all others. Idempotent, and also without `begin`. */
  end(): Promise<void>;
  /** After `end`: gives back what it has opened. The same. */
  close(): Promise<void>;
}

/**
 * From when the last module's `onApplicationBootstrap` is over until the first `onModuleDestroy`. One in an application,
 * for all of its clusters, which begin and end together.
 */
@Injectable()
export class RunPhase implements OnApplicationBootstrap, OnModuleDestroy {
  readonly members = new Set<RunPhaseMember>();

  constructor(private readonly modules: ModulesContainer) {}

  /**
   * The names of the modules in whose decorators stand imports that export this. Nest's own list of imports has global
   * modules everywhere; what a dynamic module imports is in neither.
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
   * A step of the start. If it fails so does the start of the application, of which Nest tells nobody: all members are
   * ended and closed before it rejects.
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

/** Where a module stands that is made ready after all others, and ended before them. */
const NEAREST = -Number.MAX_VALUE;

/**
 * Nest makes modules ready in the order of their distance from the root module, the farthest first, and ends them the other
 * way round. It takes a global module for the farthest of all, and the databases of handlers are usually in one.
 */
@Module({ providers: [RunPhase], exports: [RunPhase] })
export class DqRunPhaseModule {
  constructor(modules: ModulesContainer, loader: LazyModuleLoader, phase: RunPhase) {
    // Distances are looked at once, after all modules were made.
    for (const module of modules.values()) {
      if (module.metatype === DqRunPhaseModule) module.distance = NEAREST;
    }
    // Of this one application: nobody is told of a module that it loads.
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
