import { describe, expect, it } from '@jest/globals';
import {
  Injectable,
  Module,
  type DynamicModule,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
} from '@nestjs/common';
import { LazyModuleLoader } from '@nestjs/core';
import { Test, type TestingModule } from '@nestjs/testing';
import { OnNote, noteMarks } from '../spec-support/notes.js';
import { HandlersModule } from './handlers-module.js';
import { MarkedMethods } from './marked-methods.js';
import { NestParts } from './nest-parts.js';
import { RunPhase, type RunPhaseMember } from './run-phase.js';

let told: string[];

/** A library that takes part in the run phase. */
function library(name: string, begin: () => Promise<void> = async () => undefined): DynamicModule {
  const useFactory = (phase: RunPhase, nest: NestParts) => {
    const methods = new MarkedMethods(nest, noteMarks, name);
    const member: RunPhaseMember = {
      async begin() {
        told.push(`${name} begins`);
        await begin();
      },
      async loaded(modules) {
        for (const [{ name: method }] of methods.find([name], modules)) told.push(`${name} has ${method}`);
      },
      async end() {
        told.push(`${name} ends`);
      },
      async close() {
        told.push(`${name} is closed`);
      },
    };
    phase.members.add(member);
    return member;
  };
  const inject = [RunPhase, NestParts];
  return {
    module: class Library {},
    global: true,
    imports: [HandlersModule],
    providers: [{ provide: name, inject, useFactory }],
    exports: [name],
  };
}

@Injectable()
class Database implements OnApplicationBootstrap, OnModuleDestroy {
  onApplicationBootstrap(): void {
    told.push('the database is open');
  }
  onModuleDestroy(): void {
    told.push('the database is closed');
  }
}
@Module({ providers: [Database] })
class DatabaseModule {}

function compile(...libraries: DynamicModule[]): Promise<TestingModule> {
  told = [];
  const imports = [...libraries, { module: DatabaseModule, global: true }];
  return Test.createTestingModule({ imports }).compile();
}

describe('the run phase', () => {
  it('begins after and ends before all other modules, for two libraries together', async () => {
    const app = await (await compile(library('jobs'), library('topics'))).init();
    expect(told.splice(0)).toEqual(['the database is open', 'jobs begins', 'topics begins']);
    await app.close();
    expect(told).toEqual(['jobs ends', 'topics ends', 'the database is closed']);
  });

  it('ends and closes all members if one cannot begin', async () => {
    const away = () => Promise.reject(new Error('the broker is away'));
    const app = await compile(library('jobs'), library('topics', away));
    await expect(app.init()).rejects.toThrow('the broker is away');
    const after = ['jobs ends', 'topics ends', 'jobs is closed', 'topics is closed'];
    expect(told).toEqual(['the database is open', 'jobs begins', 'topics begins', ...after]);
  });

  it('notifies its members of modules that are loaded lazily, with what they import', async () => {
    @Injectable()
    class Mails {
      @OnNote('mail', { cluster: 'jobs' })
      send(): void {}
    }
    @Module({ providers: [Mails] })
    class MailsModule {}
    @Module({ imports: [MailsModule] })
    class LazyModule {}
    const app = await (await compile(library('jobs'))).init();
    told = [];
    await app.get(LazyModuleLoader).load(() => LazyModule);
    expect(told).toEqual(['jobs has Mails.send (in MailsModule)']);
    await app.close();
  });

  it('knows who imports what exports a token', async () => {
    @Module({ imports: [library('jobs')] })
    class Shop {}
    @Module({ imports: [DatabaseModule] })
    class Billing {}
    const app = await Test.createTestingModule({ imports: [Shop, Billing] }).compile();
    expect(app.get(RunPhase).importersOf('jobs')).toEqual(['Shop']);
  });
});
