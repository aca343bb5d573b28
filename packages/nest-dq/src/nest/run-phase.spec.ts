import { describe, expect, it } from '@jest/globals';
import {
  Injectable,
  type BeforeApplicationShutdown,
  type DynamicModule,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
} from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { DqProducer } from '../producer/producer.js';
import { CollectingLogger } from '../../spec-support/collecting-logger.js';
import { DelayedHandler } from './delayed-handler.js';
import { DqModule } from './dq-module.js';

/** As the usual recipe for Prisma has it. */
class Database implements OnApplicationBootstrap, OnModuleDestroy {
  state = 'not ready';

  onApplicationBootstrap(): void {
    this.state = 'open';
  }

  onModuleDestroy(): void {
    this.state = 'closed';
  }
}

class LateDatabase implements OnApplicationBootstrap, BeforeApplicationShutdown {
  state = 'not ready';

  onApplicationBootstrap(): void {
    this.state = 'open';
  }

  beforeApplicationShutdown(): void {
    this.state = 'closed';
  }
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** An application whose handlers use a database in every place where it may stand. */
async function start(clusters: readonly (string | undefined)[]): Promise<{
  readonly app: TestingModule;
  /** Database states seen by the handlers, for each run from start to end. */
  readonly seen: Set<string>;
  /** Kept when some of them run. */
  readonly running: Promise<unknown>;
  readonly counts: { begun: number; ended: number };
}> {
  const databases = new Map<string, Database | LateDatabase>();
  const databaseModule = (name: string, global: boolean, imports: DynamicModule[] = []): DynamicModule => {
    const database = name === 'late' ? new LateDatabase() : new Database();
    databases.set(name, database);
    return {
      module: class DatabaseModule {},
      global,
      imports,
      providers: [{ provide: name, useValue: database }],
    };
  };
  const seen = new Set<string>();
  const counts = { begun: 0, ended: 0 };
  let begun!: () => void;
  const running = new Promise<void>((resolve) => (begun = resolve));
  const look = () => {
    for (const [name, { state }] of databases) seen.add(`${name} is ${state}`);
  };
  const work = async () => {
    look();
    if (++counts.begun === 4 * clusters.length) begun();
    for (let i = 0; i < 50; i++) {
      await turn();
      look();
    }
    counts.ended++;
  };
  const handlers = clusters.map((cluster) => {
    @Injectable()
    class Handlers {
      @DelayedHandler('work', { concurrency: 4, ...(cluster === undefined ? {} : { cluster }) })
      work(): Promise<void> {
        return work();
      }
    }
    return Handlers;
  });
  const logger = new CollectingLogger();
  const dq = clusters.map((name) => DqModule.forRoot({ logger, ...(name === undefined ? {} : { name }) }));
  const nested = databaseModule('nested', true);
  const root = new Database();
  databases.set('root', root);
  const app = await Test.createTestingModule({
    imports: [
      databaseModule('global before', true),
      databaseModule('before', false, [nested]),
      databaseModule('late', true),
      ...dq,
      databaseModule('after', false),
      databaseModule('global after', true),
    ],
    providers: [...handlers, { provide: 'root', useValue: root }],
  }).compile();
  await app.init();
  return { app, seen, running, counts };
}

describe('handlers and the databases that they use', () => {
  it.each<[string, (string | undefined)[]]>([
    ['one cluster', [undefined]],
    ['two clusters', [undefined, 'mails']],
  ])('every database works from the first to the last moment of every run, with %s', async (_, clusters) => {
    const { app, seen, running, counts } = await start(clusters);
    for (const cluster of clusters) {
      const token = cluster === undefined ? DqProducer : `nest-dq:DqProducer:${cluster}`;
      const producer = app.get<DqProducer>(token);
      // More than run at a time, so that some are due while it drains.
      await Promise.all(Array.from({ length: 40 }, (_each, i) => producer.now('work', i)));
    }
    await running;
    await app.close();
    const { begun, ended } = counts;
    expect(ended).toBe(begun);
    expect(begun).toBeLessThan(40 * clusters.length);
    await turn();
    expect(counts.begun).toBe(begun);
    const names = ['global before', 'before', 'nested', 'late', 'after', 'global after', 'root'];
    expect([...seen].sort()).toEqual(names.map((name) => `${name} is open`).sort());
  });

  it('no handler begins before the last module is ready', async () => {
    let ready = false;
    const seen: boolean[] = [];
    let ran!: () => void;
    const running = new Promise<void>((resolve) => (ran = resolve));
    @Injectable()
    class Slow implements OnApplicationBootstrap {
      constructor(private readonly dq: DqProducer) {}

      async onApplicationBootstrap(): Promise<void> {
        await this.dq.now('work', 1);
        for (let i = 0; i < 50; i++) await turn();
        ready = true;
      }

      @DelayedHandler('work')
      work(): void {
        seen.push(ready);
        ran();
      }
    }
    const imports = [DqModule.forRoot({ logger: new CollectingLogger() })];
    const app = await Test.createTestingModule({ imports, providers: [Slow] }).compile();
    await app.init();
    await running;
    await app.close();
    expect(seen).toEqual([true]);
  });
});
