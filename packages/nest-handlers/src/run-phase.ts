import {
  Injectable,
  type DynamicModule,
  type InjectionToken,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
} from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { detached } from './context.js';
import type { NestModule } from './marked-methods.js';

/** Runs only while every module of the application works. */
export interface RunPhaseMember {
  /** Called when all modules are ready. If it rejects, the application doesn't start. */
  begin(): Promise<void>;
  /** Called when modules were lazily loaded. Nest calls none of their hooks. */
  loaded(modules: ReadonlySet<NestModule>): Promise<void>;
  /** Never rejects: in Nest 11, that would abort the shutdown of all other modules. Idempotent, and allowed without `begin`. */
  end(): Promise<void>;
  /** Called after `end`: closes what it has opened. Never rejects. Idempotent. */
  close(): Promise<void>;
}

/**
 * The time from the end of the last module's `onApplicationBootstrap` to the first `onModuleDestroy`. An application has one,
 * shared by all clusters of all libraries: they start and stop together.
 */
@Injectable()
export class RunPhase implements OnApplicationBootstrap, OnModuleDestroy {
  /** Its members: each adds itself when created. */
  readonly members = new Set<RunPhaseMember>();

  constructor(private readonly modules: ModulesContainer) {}

  /**
   * Returns the names of the modules whose decorators import something that exports this token. Nest's own list of imports would
   * include global modules everywhere. Neither includes imports of dynamic modules.
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

  /** Called by Nest. */
  async onApplicationBootstrap(): Promise<void> {
    const begun = Array.from(this.members, (member) => detached(() => member.begin()));
    await this.orGiveUp(Promise.all(begun));
  }

  /**
   * Awaits a step of the startup. If it fails, so does the application's startup, for which Nest calls no hook. So all members
   * are ended and closed before this rejects.
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

  /** Called by the loader of lazy modules, possibly from a request. */
  async loaded(modules: ReadonlySet<NestModule>): Promise<void> {
    await Promise.all(Array.from(this.members, (member) => detached(() => member.loaded(modules))));
  }

  /** Called by Nest. */
  async onModuleDestroy(): Promise<void> {
    await Promise.all(Array.from(this.members, (member) => member.end()));
  }
}
