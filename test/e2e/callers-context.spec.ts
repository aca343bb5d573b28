// Nothing runs in the AsyncLocalStorage context of a caller: on every backend, with nestjs-cls.
import { mkdtemp, rm } from 'node:fs/promises';
import { createHook } from 'node:async_hooks';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Injectable, Module, UseGuards, UseInterceptors } from '@nestjs/common';
import { LazyModuleLoader } from '@nestjs/core';
import { Test, type TestingModule } from '@nestjs/testing';
import { ClsGuard, ClsModule, ClsService } from 'nestjs-cls';
import {
  DelayedHandler,
  DqConsumer,
  DqEvents,
  DqModule,
  DqProducer,
  OnDq,
  type DelayedJob,
  type DqHooks,
  type DqOptions,
} from 'nest-dq';
import { DqControl, DqInspector } from 'nest-dq/operate';
import { DqTestKit } from 'nest-dq/testing';
import { eventually } from 'test-servers';
import { clusterSuite } from '../support/suite.js';
import { optionsOf } from '../support/system.js';
import {
  cls,
  look,
  LookingGuard,
  LookingInterceptor,
  seen,
  useCls,
  type TenantStore,
} from '../support/looking.js';

const REQUESTS = 60;
const suite = clusterSuite();

let runs: number;

@Injectable()
class Invoices {
  @DelayedHandler('bare')
  async bare(): Promise<void> {
    look('a handler');
    await Promise.resolve();
    look('a handler later');
    runs++;
  }

  @DelayedHandler('enhanced')
  @UseGuards(LookingGuard)
  @UseInterceptors(LookingInterceptor)
  enhanced(): void {
    look('a handler with enhancers');
    runs++;
  }

  /** The context it enters must end with its run, although nothing leaves it. */
  @DelayedHandler('entering')
  entering(tenant: string): void {
    look('a handler that enters');
    cls.enterWith({ tenant });
    runs++;
  }

  @DelayedHandler('with.own.store')
  @UseGuards(ClsGuard)
  async withOwnStore(tenant: string): Promise<void> {
    look('a handler with a ClsGuard');
    cls.set('tenant', tenant);
    await new Promise((resolve) => setImmediate(resolve));
    if (cls.get('tenant') !== tenant) seen.push(`the store of ${tenant} became that of ${cls.get('tenant')}`);
    runs++;
  }

  @OnDq('scheduled')
  @OnDq('started')
  @OnDq('completed')
  onEvent(): void {
    look('a listener');
    cls.enterWith({ tenant: 'of a listener' });
  }
}

@Injectable()
class LateInvoices {
  @DelayedHandler('loaded.late')
  late(): void {
    look('a handler that was loaded in a request');
    runs++;
  }
}

@Module({ providers: [LateInvoices] })
class LateModule {}

const hooks: DqHooks[] = [
  {
    onStart: () => look('onStart'),
    aroundHandler: (_job, next) => {
      look('aroundHandler');
      return next();
    },
  },
];

let parent: string;
let kit: DqTestKit | undefined;
let app: TestingModule;
beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), 'nest-dq-context-'));
  seen.length = 0;
  runs = 0;
});
afterEach(async () => {
  await app.close();
  await kit?.close();
  kit = undefined;
  await rm(parent, { recursive: true });
});

const quiet = { log: () => undefined, warn: () => undefined, error: () => undefined };

async function start(options: DqOptions, inKit: boolean): Promise<void> {
  const dq = DqModule.forRoot({ hooks, logger: quiet, ...options });
  const builder = Test.createTestingModule({
    imports: [ClsModule.forRoot({ global: true }), dq],
    providers: [Invoices, LookingGuard, LookingInterceptor],
  });
  if (inKit) kit = new DqTestKit();
  app = await (kit?.override(builder) ?? builder).compile();
  useCls(app.get<ClsService<TenantStore>>(ClsService));
  await asRequest('of the start', () => app.init());
}

/** Each request has a store of its own. */
function asRequest<T>(tenant: string, work: () => Promise<T>): Promise<T> {
  return cls.runWith({ tenant }, work);
}

async function untilRun(count: number): Promise<void> {
  await kit?.advance('1s');
  await eventually(`${count} jobs ran`, () => runs === count);
}

describe.each<[string, () => DqOptions, boolean]>([
  ['embedded in memory', () => ({ embedded: 'memory' }), false],
  ['embedded in a folder', () => ({ embedded: { dir: join(parent, 'data') } }), false],
  [
    'a cluster',
    () => ({ ...optionsOf(suite.servers), prefix: `${Math.random().toString(36).slice(2)}.` }),
    false,
  ],
  ['the test kit', () => ({}), true],
])('with %s', (_backend, options, inKit) => {
  it('no handler, listener or hook sees the store of a request, nor that of another run', async () => {
    await start(options(), inKit);
    const dq = app.get(DqProducer);
    const tubes = ['bare', 'enhanced', 'entering', 'with.own.store'];
    const requests = Array.from({ length: REQUESTS }, (_, i) => `t${i}`);
    await Promise.all(
      requests.map((tenant) =>
        asRequest(tenant, async () => {
          for (const tube of tubes) await dq.now(tube, tenant);
          expect(cls.get('tenant')).toBe(tenant);
        }),
      ),
    );
    await untilRun(REQUESTS * tubes.length);
    expect(seen).toEqual([]);
  });

  it('what is consumed or loaded in a request runs outside of it, and so does what comes later', async () => {
    await start(options(), inKit);
    const dq = app.get(DqProducer);
    const consumer = app.get(DqConsumer);
    const events = app.get(DqEvents);
    const handler =
      (who: string) =>
      (_payload: unknown, { signal }: DelayedJob) => {
        look(who);
        expect(signal.aborted).toBe(false);
        runs++;
      };
    await asRequest('first', () => consumer.consume('consumed', handler('a handler consumed in a request')));
    await asRequest('lazy', () => app.get(LazyModuleLoader).load(() => LateModule));
    await asRequest('subscribing', async () => {
      events.on('completed').subscribe(() => look('a subscriber'));
    });
    await consumer.consume('consumed.later', handler('a handler consumed later'));
    const tubes = ['consumed', 'loaded.late', 'consumed.later'];
    for (const tube of tubes)
      await Promise.all(Array.from({ length: 10 }, (_, i) => asRequest(`t${i}`, () => dq.now(tube, i))));
    await untilRun(30);
    expect(seen).toEqual([]);
  });
});

describe('what a request leaves behind', () => {
  /** Sockets and timers that were made in the context of a request. */
  const kept: string[] = [];
  const hook = createHook({
    init(_id, type) {
      if (cls?.get('tenant') !== undefined && /^(?:TCPWRAP|TLSWRAP|PIPEWRAP|Timeout|Worker)$/.test(type))
        kept.push(`${cls.get('tenant')}: ${type} ${new Error().stack}`);
    },
  });
  afterAll(() => void hook.disable());

  it.each<[string, () => DqOptions]>([
    ['embedded in a folder', () => ({ embedded: { dir: join(parent, 'data') } })],
    ['a cluster', () => ({ ...optionsOf(suite.servers), prefix: 'left.' })],
  ])('is neither a connection nor a timer: %s', async (_backend, options) => {
    kept.length = 0;
    const dq = DqModule.forRoot({ logger: quiet, ...options() });
    app = await Test.createTestingModule({ imports: [ClsModule.forRoot({ global: true }), dq] }).compile();
    useCls(app.get<ClsService<TenantStore>>(ClsService));
    hook.enable();
    try {
      await asRequest('starting', () => app.init());
      const producer = app.get(DqProducer);
      // As many at a time as open connections, timers of deadlines, and batches.
      await Promise.all(
        Array.from({ length: 20 }, (_, i) =>
          asRequest(`adding ${i}`, async () => {
            await producer.delay('later', i, '1h', { key: String(i) });
            await producer.revoke({ tube: 'later', key: String(i) });
          }),
        ),
      );
      const consumer = app.get(DqConsumer);
      await asRequest('consuming', () => consumer.consume('later', () => void runs++));
      await asRequest('looking', () => app.get(DqInspector).tube('later'));
      await asRequest('pausing', () => app.get(DqControl).pause('later', { by: 'a test' }));
      await asRequest('resuming', () => app.get(DqControl).resume('later', { by: 'a test' }));
      await asRequest('adding', () => producer.now('later', 1));
      await eventually('it ran', () => runs === 1);
    } finally {
      hook.disable();
    }
    expect(kept).toEqual([]);
  });
});
