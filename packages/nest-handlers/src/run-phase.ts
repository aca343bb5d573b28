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
  /** All modules are ready. If it rejects, the application does not start. */
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
 * one, for all clusters of all libraries: they begin and end together.
 */
@Injectable()
export class RunPhase implements OnApplicationBootstrap, OnModuleDestroy {
  /** Who begins and ends with it: each adds itself when it is made. */
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

  /** For Nest. */
  async onApplicationBootstrap(): Promise<void> {
    const begun = Array.from(this.members, (member) => detached(() => member.begin()));
    await this.orGiveUp(Promise.all(begun));
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

  /** For the loader of lazy modules, which a request may call. */
  async loaded(modules: ReadonlySet<NestModule>): Promise<void> {
    await Promise.all(Array.from(this.members, (member) => detached(() => member.loaded(modules))));
  }

  /** For Nest. */
  async onModuleDestroy(): Promise<void> {
    await Promise.all(Array.from(this.members, (member) => member.end()));
  }
}
