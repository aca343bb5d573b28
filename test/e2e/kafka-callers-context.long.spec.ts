// No handler of messages runs in the AsyncLocalStorage context of a caller: in the process, on a real broker and in the test kit.
import { createHook } from 'node:async_hooks';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { ConsoleLogger, Injectable, Module, UseGuards, UseInterceptors } from '@nestjs/common';
import { LazyModuleLoader } from '@nestjs/core';
import { Test, type TestingModule } from '@nestjs/testing';
import { ClsGuard, ClsModule, ClsService } from 'nestjs-cls';
import { KqGroups, KqModule, KqPusher, OnKq, TopicHandler, type KqHooks } from 'nest-kq';
import { KqTestKit } from 'nest-kq/testing';
import { KafkajsDriver } from 'nest-kq/src/driver/kafkajs/kafkajs-driver.js';
import { systemClock } from 'nest-handlers/time';
import { eventually, startKafka, type KafkaServer } from 'test-servers';
import {
  cls,
  look,
  LookingGuard,
  LookingInterceptor,
  seen,
  useCls,
  type TenantStore,
} from '../support/looking.js';

const LIMIT = 120_000;
const REQUESTS = 60;
const TOPICS = ['bare', 'enhanced', 'entering', 'with.own.store', 'batched', 'loaded.late'];
const silent = { debug: () => undefined, warn: () => undefined, error: () => undefined };

let runs: number;

@Injectable()
class Invoices {
  @TopicHandler('bare')
  async bare(): Promise<void> {
    look('a handler');
    await Promise.resolve();
    look('a handler later');
    runs++;
  }

  @TopicHandler('enhanced')
  @UseGuards(LookingGuard)
  @UseInterceptors(LookingInterceptor)
  enhanced(): void {
    look('a handler with enhancers');
    runs++;
  }

  /** The context it enters must end with its run, although nothing leaves it. */
  @TopicHandler('entering')
  @UseGuards(LookingGuard)
  entering(tenant: string): void {
    look('a handler that enters');
    cls.enterWith({ tenant });
    runs++;
  }

  @TopicHandler('with.own.store')
  @UseGuards(ClsGuard)
  async withOwnStore(tenant: string): Promise<void> {
    look('a handler with a ClsGuard');
    cls.set('tenant', tenant);
    await new Promise((resolve) => setImmediate(resolve));
    if (cls.get('tenant') !== tenant) seen.push(`the store of ${tenant} became that of ${cls.get('tenant')}`);
    runs++;
  }

  @TopicHandler('batched', { batch: { size: 5, within: '20ms' } })
  batched(tenants: string[]): void {
    look('a handler of batches');
    runs += tenants.length;
  }

  @OnKq('pushed')
  @OnKq('handled')
  @OnKq('groupJoined')
  onEvent(): void {
    look('a listener');
    cls.enterWith({ tenant: 'of a listener' });
  }
}

@Injectable()
class LateInvoices {
  @TopicHandler('loaded.late', { group: 'late' })
  late(): void {
    look('a handler that was loaded in a request');
    runs++;
  }
}

@Module({ providers: [LateInvoices] })
class LateModule {}

const hooks: KqHooks[] = [
  {
    onStart: () => look('onStart'),
    aroundHandler: (_run, next) => {
      look('aroundHandler');
      return next();
    },
  },
];

/** Each request has a store of its own. */
function asRequest<T>(tenant: string, work: () => Promise<T>): Promise<T> {
  return cls.runWith({ tenant }, work);
}

let server: KafkaServer;
beforeAll(async () => {
  server = await startKafka();
  const driver = new KafkajsDriver({ brokers: [server.endpoint], clock: systemClock, log: silent });
  await driver.admin.createTopics(TOPICS.map((topic) => ({ topic, partitions: 2 })));
  await driver.close();
}, LIMIT);
afterAll(() => server.stop(), LIMIT);

describe.each<[string, () => string[] | 'memory', boolean]>([
  ['in the process', () => 'memory', false],
  ['on a real broker', () => [server.endpoint], false],
  ['in the test kit', () => 'memory', true],
])('%s', (_where, brokers, inKit) => {
  let app: TestingModule;
  let kit: KqTestKit | undefined;
  /** Sockets that were made in the context of a request. */
  const kept: string[] = [];
  const hook = createHook({
    init(_id, type) {
      if (/^(?:TCPWRAP|TLSWRAP)$/.test(type) && cls.get('tenant') !== undefined)
        kept.push(`${cls.get('tenant')}: ${type}`);
    },
  });

  beforeEach(async () => {
    seen.length = 0;
    runs = 0;
    kept.length = 0;
    const logger = new ConsoleLogger('Kq', { logLevels: [] });
    const pusher = { transactionalId: 'invoices' };
    const builder = Test.createTestingModule({
      imports: [
        ClsModule.forRoot({ global: true }),
        KqModule.forRoot({ brokers: brokers(), group: 'shop', pusher, hooks, logger }),
      ],
      providers: [Invoices, LookingGuard, LookingInterceptor],
    });
    if (inKit) kit = new KqTestKit();
    app = await (kit?.override(builder) ?? builder).compile();
    useCls(app.get<ClsService<TenantStore>>(ClsService));
    hook.enable();
    await asRequest('of the start', () => app.init());
  }, LIMIT);
  afterEach(async () => {
    hook.disable();
    await app.close();
    await kit?.close();
    kit = undefined;
  }, LIMIT);

  async function untilRun(count: number): Promise<void> {
    await kit?.advance('1s');
    await eventually(`${count} messages were handled`, () => runs === count, LIMIT);
  }

  it(
    'no handler, listener or hook sees the store of a request, nor that of another run',
    async () => {
      const pusher = app.get(KqPusher);
      const groups = app.get(KqGroups);
      const topics = TOPICS.filter((topic) => topic !== 'loaded.late');
      const pushAll = () =>
        Promise.all(
          Array.from({ length: REQUESTS }, (_, i) =>
            asRequest(`t${i}`, async () => {
              await Promise.all(topics.map((topic) => pusher.push(topic, `t${i}`)));
              expect(cls.get('tenant')).toBe(`t${i}`);
            }),
          ),
        );
      await pushAll();
      await untilRun(REQUESTS * topics.length);
      // Messages fetched meanwhile are started by the call of the request that resumes.
      groups.pause();
      await pushAll();
      await asRequest('resuming', async () => groups.resume());
      await untilRun(2 * REQUESTS * topics.length);
      expect(seen).toEqual([]);
      expect(kept).toEqual([]);
    },
    LIMIT,
  );

  it(
    'what is loaded in a request runs outside of it, and so does what comes after its seek',
    async () => {
      const pusher = app.get(KqPusher);
      await asRequest('lazy', () => app.get(LazyModuleLoader).load(() => LateModule));
      for (let i = 0; i < 10; i++) await asRequest(`t${i}`, () => pusher.push('loaded.late', i));
      await untilRun(10);
      if (!inKit) {
        await asRequest('seeking', () => app.get(KqGroups).seek('late', 'loaded.late', { to: 'first' }));
        await untilRun(20);
      }
      await asRequest('in a transaction', () =>
        pusher.transaction(async (tx) => {
          await tx.push('loaded.late', 'last');
        }),
      );
      await untilRun(inKit ? 11 : 21);
      expect(seen).toEqual([]);
      expect(kept).toEqual([]);
    },
    LIMIT,
  );
});
