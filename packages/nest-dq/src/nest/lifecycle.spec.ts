import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import {
  Injectable,
  type BeforeApplicationShutdown,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleDestroy,
  type OnModuleInit,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Test, type TestingModule } from '@nestjs/testing';
import { DqConsumer } from '../consumer/consumer.js';
import type { DqHooks } from '../events/hooks.js';
import type { DelayedJob } from '../api/job.js';
import { DqProducer } from '../producer/producer.js';
import { CollectingLogger } from '../../spec-support/collecting-logger.js';
import { VirtualClock } from 'nest-handlers/testing';
import { DelayedHandler } from './delayed-handler.js';
import { DqModule } from './dq-module.js';
import { ENVIRONMENT, realEnvironment, type Environment } from './environment.js';
import type { DqOptions } from './options.js';

/** A promise and how to settle it. */
function signal<T = void>() {
  let resolve!: (value: T) => void;
  const promise = new Promise<T>((done) => (resolve = done));
  return { promise, resolve };
}

/** Adds in every phase of an application's life, and handles what it added. */
@Injectable()
class Witness
  implements
    OnModuleInit,
    OnApplicationBootstrap,
    OnModuleDestroy,
    BeforeApplicationShutdown,
    OnApplicationShutdown
{
  readonly events: string[] = [];
  readonly started = signal<DelayedJob>();
  readonly release = signal();

  constructor(private readonly dq: DqProducer) {}

  async onModuleInit(): Promise<void> {
    await this.dq.now('work', 'early');
    this.events.push('init');
  }

  onApplicationBootstrap(): void {
    this.events.push('bootstrap');
  }

  async onModuleDestroy(): Promise<void> {
    await this.dq.delay('later', 'on destroy', '1h');
    this.events.push('destroy');
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.dq.delay('later', 'before shutdown', '1h');
    this.events.push('before shutdown');
  }

  onApplicationShutdown(): void {
    this.events.push('shutdown');
  }

  @DelayedHandler('work')
  async work(payload: string, job: DelayedJob): Promise<void> {
    this.events.push(`${payload} begins`);
    this.started.resolve(job);
    await this.release.promise;
    this.events.push(`${payload} ends`);
  }
}

let logger: CollectingLogger;
beforeEach(() => {
  logger = new CollectingLogger();
});

function compile(options: DqOptions = {}, clock?: VirtualClock): Promise<TestingModule> {
  const builder = Test.createTestingModule({
    imports: [DqModule.forRoot({ logger, ...options })],
    providers: [Witness],
  });
  if (clock) builder.overrideProvider(ENVIRONMENT).useValue({ ...realEnvironment, clock });
  return builder.compile();
}

/** Closes the app on a clock, since what a drain waits for happens only when the clock is moved. */
async function closeOn(clock: VirtualClock, app: TestingModule): Promise<void> {
  const closed = app.close();
  await clock.advance(20_000);
  await closed;
}

describe('the life of an application', () => {
  it('runs handlers from bootstrap on, drains them, and lets producers work until the very end', async () => {
    const app = await compile();
    const witness = app.get(Witness);
    const producer = app.get(DqProducer);
    expect(witness.events).toEqual([]);
    await app.init();
    await witness.started.promise;
    const closed = app.close();
    await producer.delay('later', 'in the drain', '1h');
    witness.release.resolve();
    await closed;
    expect(witness.events).toEqual([
      'init',
      'bootstrap',
      'early begins',
      'early ends',
      'destroy',
      'before shutdown',
      'shutdown',
    ]);
    await expect(producer.now('work', 'late')).rejects.toMatchObject({ code: 'DQ_CLOSED' });
    await expect(app.get(DqConsumer).consume('late', () => undefined)).rejects.toMatchObject({
      code: 'DQ_CLOSED',
    });
  });

  it('gives back what outlasts the shutdown timeout, with its signal aborted', async () => {
    const app = await compile({ shutdownTimeout: 0 });
    await app.init();
    const job = await app.get(Witness).started.promise;
    await app.close();
    expect(job.signal.reason).toMatchObject({ code: 'DQ_SHUTDOWN' });
    app.get(Witness).release.resolve();
  });

  it('can be drained manually, and its producers work until the end', async () => {
    const app = await compile();
    const witness = app.get(Witness);
    const consumer = app.get(DqConsumer);
    await app.init();
    await witness.started.promise;
    const stopped = Promise.all([consumer.stop(), consumer.stop()]);
    await app.get(DqProducer).now('work', 'late');
    witness.release.resolve();
    await stopped;
    expect(witness.events).toEqual(['init', 'bootstrap', 'early begins', 'early ends']);
    await expect(consumer.consume('other', () => undefined)).rejects.toMatchObject({ code: 'DQ_CLOSED' });
    await expect(app.get(DqProducer).delay('work', 'later', '1h')).resolves.toMatchObject({ copies: 1 });
    await app.close();
    expect(witness.events).not.toContain('late begins');
  });

  it('starts manually registered consumers at bootstrap', async () => {
    const app = await compile();
    const ran = signal<unknown>();
    await app.get(DqConsumer).consume('by.hand', ran.resolve);
    await app.get(DqProducer).now('by.hand', 'payload');
    await app.init();
    await expect(ran.promise).resolves.toBe('payload');
    app.get(Witness).release.resolve();
    await app.close();
  });

  it.each([true, false])('runs handlers in this process with `consume: %s`, or not', async (consume) => {
    const clock = new VirtualClock();
    const app = await compile({ consume }, clock);
    app.get(Witness).release.resolve();
    await app.init();
    await clock.advance(10_000);
    expect(app.get(Witness).events.includes('early ends')).toBe(consume);
    await closeOn(clock, app);
  });

  it('checks handlers with `consume: false`, too', async () => {
    @Injectable()
    class Wrong {
      @DelayedHandler('wrong', { attempts: 0 })
      run(): void {}
    }
    const app = await Test.createTestingModule({
      imports: [DqModule.forRoot({ logger, consume: false })],
      providers: [Wrong],
    }).compile();
    await expect(app.init()).rejects.toMatchObject({ code: 'DQ_CONFIG' });
    await app.close();
  });

  it('can be closed before it was started, and twice', async () => {
    for (const start of [false, true]) {
      const app = await Test.createTestingModule({ imports: [DqModule.forRoot({ logger })] }).compile();
      if (start) await app.init();
      await app.close();
      await app.close();
      await expect(app.get(DqProducer).now('work', 'late')).rejects.toMatchObject({ code: 'DQ_CLOSED' });
    }
  });

  it('runs in an application context without HTTP', async () => {
    const dq = DqModule.forRoot({ logger });
    const module = class Context {};
    const app = await NestFactory.createApplicationContext(
      { module, imports: [dq], providers: [Witness] },
      { logger, abortOnError: false },
    );
    await app.get(Witness).started.promise;
    app.get(Witness).release.resolve();
    await app.close();
    expect(app.get(Witness).events).toContain('early ends');
  });

  it('can be closed after another module has failed to start', async () => {
    const failing = {
      provide: 'failing',
      useValue: { onApplicationBootstrap: () => Promise.reject(new Error('no database')) },
    };
    const imports = [DqModule.forRoot({ logger })];
    const app = await Test.createTestingModule({ imports, providers: [failing, Witness] }).compile();
    await expect(app.init()).rejects.toThrow('no database');
    await app.close();
    expect(app.get(Witness).events).not.toContain('early begins');
    await expect(app.get(DqProducer).now('work', 'late')).rejects.toMatchObject({ code: 'DQ_CLOSED' });
  });

  it('leaves no timer behind', async () => {
    const clock = new VirtualClock();
    const open = new Set<object>();
    const after = clock.after.bind(clock);
    jest.spyOn(clock, 'after').mockImplementation((delay, callback) => {
      const timer = after(delay, () => {
        open.delete(timer);
        callback();
      });
      open.add(timer);
      return { cancel: () => (open.delete(timer), timer.cancel()) };
    });
    const app = await compile({}, clock);
    await app.init();
    await app.get(Witness).started.promise;
    app.get(Witness).release.resolve();
    expect(open.size).toBeGreaterThan(0);
    await closeOn(clock, app);
    expect(open.size).toBe(0);
  });
});

describe('a close in which something fails', () => {
  it('closes everything else, in order, and reports what failed', async () => {
    const steps: string[] = [];
    const failing = (what: string) => () => {
      steps.push(what);
      throw new Error(`${what} fails`);
    };
    const hooks: DqHooks[] = [
      { onStart: () => failing('the first hook') },
      { onStart: () => () => void steps.push('the second hook') },
    ];
    const environment: Environment = {
      ...realEnvironment,
      backend: (options, name) => {
        const backend = realEnvironment.backend(options, name);
        const ledgerClose = jest.spyOn(backend.ledger, 'close');
        ledgerClose.mockImplementation(() => Promise.reject(failing('the ledger')() as never));
        const closing = async () => failing('the backend')();
        return { ...backend, stopped: async () => failing('the drain')(), close: closing };
      },
    };
    const app = await Test.createTestingModule({ imports: [DqModule.forRoot({ logger, hooks })] })
      .overrideProvider(ENVIRONMENT)
      .useValue(environment)
      .compile();
    await app.init();
    await app.close();
    const inOrder = ['the drain', 'the ledger', 'the backend', 'the first hook', 'the second hook'];
    expect(steps).toEqual(inOrder);
    expect(logger.matching(/fails/)).toEqual(
      inOrder.slice(0, 4).map((step) => expect.stringContaining(`${step} fails`)),
    );
    await expect(app.get(DqProducer).now('work', 1)).rejects.toMatchObject({ code: 'DQ_CLOSED' });
  });

  it('of a start in which a hook throws calls what the hooks before it returned', async () => {
    const stopped = jest.fn();
    const hooks: DqHooks[] = [
      { onStart: () => stopped },
      {
        onStart: () => {
          throw new Error('no metrics');
        },
      },
    ];
    const imports = [DqModule.forRoot({ logger, hooks })];
    const app = await Test.createTestingModule({ imports }).compile();
    await expect(app.init()).rejects.toThrow('no metrics');
    expect(stopped).toHaveBeenCalledTimes(1);
    await expect(app.get(DqProducer).now('work', 1)).rejects.toMatchObject({ code: 'DQ_CLOSED' });
    await app.close();
    expect(stopped).toHaveBeenCalledTimes(1);
  });
});
