import { beforeEach, describe, expect, it } from '@jest/globals';
import {
  Injectable,
  Module,
  type BeforeApplicationShutdown,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleDestroy,
  type OnModuleInit,
} from '@nestjs/common';
import { LazyModuleLoader } from '@nestjs/core';
import { Test, type TestingModule } from '@nestjs/testing';
import { CollectingLogger } from '../../spec-support/collecting-logger.js';
import type { LogDriver } from '../driver/driver.js';
import { MemoryDriver } from '../driver/memory/memory-driver.js';
import type { KqMessage } from '../api/received.js';
import { KqError } from '../errors.js';
import { KqPusher } from '../pusher/pusher.js';
import { systemClock } from 'nest-handlers/time';
import { ENVIRONMENT, driverLog, realEnvironment, type Environment } from './environment.js';
import { KqModule } from './kq-module.js';
import type { KqOptions } from './options.js';
import { TopicHandler } from './topic-handler.js';

/** A promise and how to settle it. */
function signal<T = void>() {
  let resolve!: (value: T) => void;
  const promise = new Promise<T>((done) => (resolve = done));
  return { promise, resolve };
}

/** Pushes in every phase of an application's life, and handles what it pushed. */
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
  readonly started = signal<KqMessage>();
  readonly release = signal();

  constructor(private readonly kq: KqPusher) {}

  async onModuleInit(): Promise<void> {
    await this.kq.push('work', 'early', { key: 'k' });
    this.events.push('init');
  }

  onApplicationBootstrap(): void {
    this.events.push('bootstrap');
  }

  async onModuleDestroy(): Promise<void> {
    await this.kq.push('later', 'on destroy');
    this.events.push('destroy');
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.kq.push('later', 'before shutdown');
    this.events.push('before shutdown');
  }

  onApplicationShutdown(): void {
    this.events.push('shutdown');
  }

  @TopicHandler('work')
  async work(value: string, message: KqMessage): Promise<void> {
    this.events.push(`${value} begins`);
    this.started.resolve(message);
    await this.release.promise;
    this.events.push(`${value} ends`);
  }
}

class Nothing {}

let logger: CollectingLogger;
let driver: MemoryDriver;
/** The driver stays open when an application closes it, so that one can look into it, and start another. */
let environment: Environment;
beforeEach(() => {
  logger = new CollectingLogger();
  driver = new MemoryDriver({ clock: systemClock, log: driverLog(logger), partitions: 1 });
  environment = { ...realEnvironment, driver: () => lasting(driver) };
});

function lasting(log: LogDriver): LogDriver {
  return {
    admin: log.admin,
    producer: (options) => log.producer(options),
    member: (options, handler) => log.member(options, handler),
    close: async () => undefined,
  };
}

async function start(options: KqOptions = {}, provider: new (...args: any[]) => object = Witness) {
  const app = await Test.createTestingModule({
    imports: [KqModule.forRoot({ logger, brokers: 'memory', ...options })],
    providers: [provider],
  })
    .overrideProvider(ENVIRONMENT)
    .useValue(environment)
    .compile();
  return app.init();
}

async function committed(topic: string): Promise<bigint | undefined> {
  return (await driver.admin.committed('nest-kq', topic))[0]?.offset;
}

describe('the life of an application', () => {
  it('runs handlers from bootstrap on, drains and commits at its end, and pushes until the very end', async () => {
    const app = await start();
    const witness = app.get(Witness);
    const pusher = app.get(KqPusher);
    await witness.started.promise;
    const closed = app.close();
    await pusher.push('work', 'in the drain', { key: 'k' });
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
    expect(await committed('work')).toBe(1n);
    await expect(pusher.push('work', 'late')).rejects.toMatchObject({ code: 'KQ_CLOSED' });
    expect(logger.matching(/^consuming/)).toEqual(['consuming work in the group nest-kq']);
  });

  it('runs a message again in the next application that was not handled within the limit of a shutdown', async () => {
    const app = await start({ shutdownTimeout: 1 });
    const witness = app.get(Witness);
    const message = await witness.started.promise;
    await app.close();
    expect(message.signal.aborted).toBe(true);
    expect(logger.matching(/still running/)).toEqual([
      '1 handler is still running in the group nest-kq after the shutdown timeout of 1 ms; their messages will be redelivered',
    ]);
    expect(await committed('work')).toBe(0n);
    witness.release.resolve();
    const next = await start();
    expect((await next.get(Witness).started.promise).offset).toBe('0');
    next.get(Witness).release.resolve();
    await next.close();
  });

  it('not consuming where it should not, and can be closed before it was started', async () => {
    const app = await start({ consume: false });
    expect(logger.matching(/consume/)).toEqual(['not consuming work in this process: `consume` is false']);
    expect(app.get(Witness).events).toEqual(['init', 'bootstrap']);
    await app.close();
    const compiled = await Test.createTestingModule({
      imports: [KqModule.forRoot({ logger, brokers: 'memory' })],
    }).compile();
    await compiled.close();
  });

  it('runs handlers of lazily loaded modules along with those of the same group', async () => {
    const handled = signal<string>();
    class Lazy {
      @TopicHandler('lazy')
      handle(value: string): void {
        handled.resolve(value);
      }
    }
    @Module({ providers: [Lazy] })
    class LazyModule {}
    const app = await start();
    const witness = app.get(Witness);
    await app.get(LazyModuleLoader).load(() => LazyModule);
    const pusher = app.get(KqPusher);
    await pusher.push('lazy', 'a');
    expect(await handled.promise).toBe('a');
    witness.release.resolve();
    await app.close();
    expect(await committed('lazy')).toBe(1n);
    expect(await committed('work')).toBe(1n);
  });

  it('ends what the process before it has left open under its transactionalId, for which readers wait', async () => {
    const left = await driver.producer({ transactionalId: 'shop' }).transaction();
    await left.send('later', [{ key: null, value: Buffer.from('x') }]);
    const readable = async () => (await driver.admin.ends('later'))[0]!.end;
    expect(await readable()).toBe(0n);
    const app = await start({ pusher: { transactionalId: 'shop' } }, Nothing);
    while ((await readable()) === 0n) await new Promise(setImmediate);
    await expect(left.commit()).rejects.toMatchObject({ code: 'KQ_TRANSACTION' });
    await app.close();
    expect(logger.matching(/transaction/)).toEqual([]);
  });

  it('starts where that is not possible, and reports it', async () => {
    const refuse = () => Promise.reject(new KqError('KQ_REFUSED', 'no right to shop'));
    const producer: LogDriver['producer'] = (given) =>
      Object.assign(driver.producer(given), { transaction: refuse });
    environment = { ...realEnvironment, driver: () => ({ ...lasting(driver), producer }) };
    const app = await start({ pusher: { transactionalId: 'shop' } }, Nothing);
    const told = () => logger.matching(/transaction/);
    while (told().length === 0) await new Promise(setImmediate);
    expect(told()).toEqual([
      'a previous process may have left a transaction open: KQ_REFUSED: no right to shop',
    ]);
    await app.close();
  });

  it('does not start with a missing topic, and says which there are', async () => {
    driver = new MemoryDriver({ clock: systemClock, log: driverLog(logger), autoCreate: false });
    await driver.admin.createTopics([{ topic: 'orders' }, { topic: 'mails' }]);
    class Misspelt {
      @TopicHandler(['order', 'mails'])
      handle(): void {}
    }
    await expect(start({}, Misspelt)).rejects.toThrow(
      /^KQ_UNKNOWN_TOPIC: Misspelt.handle \(in RootTestModule\): there is no topic 'order'; existing topics: mails, orders$/,
    );
  });
});

describe('two applications of one group', () => {
  it('share the partitions of a topic', async () => {
    driver = new MemoryDriver({ clock: systemClock, log: driverLog(logger), partitions: 2 });
    const seen = new Map<string, TestingModule>();
    const all = signal();
    class Reader {
      handledBy!: TestingModule;

      @TopicHandler('t')
      handle(value: string): void {
        seen.set(value, this.handledBy);
        if (seen.size === 2) all.resolve();
      }
    }
    const apps = [await start({}, Reader), await start({}, Reader)];
    for (const app of apps) app.get(Reader).handledBy = app;
    for (const partition of [0, 1]) await apps[0]!.get(KqPusher).push('t', String(partition), { partition });
    await all.promise;
    expect(new Set(seen.values())).toEqual(new Set(apps));
    for (const app of apps) await app.close();
  });
});
