import { Module } from '@nestjs/common';
import { DiscoveryModule, LazyModuleLoader, ModuleRef, ModulesContainer } from '@nestjs/core';
import type { NestModule } from './marked-methods.js';
import { NestParts } from './nest-parts.js';
import { RunPhase } from './run-phase.js';

/** Distance of a module that is initialized after all others, and destroyed before them. */
const NEAREST = -Number.MAX_VALUE;

/**
 * Provides `RunPhase` and `NestParts`; a library imports it in each of its dynamic modules.
 *
 * Nest initializes modules in the order of their distance from the root module, farthest first, and destroys them in reverse.
 * Global modules count as the farthest of all, and handlers usually need the databases of one.
 */
@Module({
  imports: [DiscoveryModule],
  providers: [RunPhase, NestParts],
  exports: [RunPhase, NestParts],
})
export class HandlersModule {
  constructor(modules: ModulesContainer, loader: LazyModuleLoader, phase: RunPhase) {
    // Nest reads the distances once, after all modules are created.
    for (const module of modules.values()) {
      if (module.metatype === HandlersModule) module.distance = NEAREST;
    }
    // Nest has no event for a lazily loaded module.
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
