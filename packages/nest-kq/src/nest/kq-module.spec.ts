import { afterEach, describe, expect, it } from '@jest/globals';
import { Injectable, Module, type DynamicModule, type Provider } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { CollectingLogger } from '../../spec-support/collecting-logger.js';
import type { KqMessage } from '../api/received.js';
import type { DriverFactory } from '../driver/client-options.js';
import { MemoryDriver } from '../driver/memory/memory-driver.js';
import { KqError } from '../errors.js';
import { KqHealth } from '../health/health.js';
import { KqPusher } from '../pusher/pusher.js';
import { KqModule } from './kq-module.js';
import type { KqOptions } from './options.js';
import { InjectKq, getKqToken } from './tokens.js';
import { TopicHandler } from './topic-handler.js';

@Injectable()
class Greeter {
  private greeted!: (text: string) => void;
  readonly greeting = new Promise<string>((resolve) => (this.greeted = resolve));

  constructor(private readonly kq: KqPusher) {}

  async ask(name: string): Promise<void> {
    await this.kq.push('greet', { name }, { key: name });
  }

  @TopicHandler('greet')
  greet({ name }: { name: string }, message: KqMessage): void {
    this.greeted(`hello ${name}, ${message.topic} ${message.offset} ${message.key} ${message.attempt}`);
  }
}

const HELLO = 'hello Ada, greet 0 Ada 1';
const logger = new CollectingLogger();

@Injectable()
class Config {
  readonly options: KqOptions = { logger };

  createKqOptions(): KqOptions {
    return this.options;
  }
}

@Module({ providers: [Config], exports: [Config] })
class ConfigModule {}

let apps: TestingModule[] = [];
afterEach(async () => {
  for (const app of apps) await app.close();
  apps = [];
});

async function start(imports: DynamicModule[], ...providers: Provider[]): Promise<TestingModule> {
  const app = await Test.createTestingModule({ imports, providers }).setLogger(logger).compile();
  await app.init();
  apps.push(app);
  return app;
}

describe('KqModule', () => {
  it('asks the driver that the options name, and no brokers', async () => {
    const asked: unknown[] = [];
    const driver: DriverFactory = ({ brokers, clientId, clock, log }) => {
      asked.push(...brokers, clientId);
      return new MemoryDriver({ clock, log });
    };
    const options = { brokers: ['kafka.invalid:9092'], clientId: 'shop', group: 'g', driver, logger };
    const app = await start([KqModule.forRoot(options)], Greeter);
    await app.get(Greeter).ask('Ada');
    await expect(app.get(Greeter).greeting).resolves.toBe(HELLO);
    expect(asked).toEqual(['kafka.invalid:9092', 'shop']);
  });

  it.each<[string, () => DynamicModule]>([
    ['forRoot without options', () => KqModule.forRoot()],
    ['forRoot with options', () => KqModule.forRoot({ logger })],
    ['useFactory', () => KqModule.forRootAsync({ useFactory: async () => ({ logger }) })],
    [
      'useFactory with what it injects',
      () =>
        KqModule.forRootAsync({
          imports: [ConfigModule],
          inject: [Config],
          useFactory: ({ options }: Config) => options,
        }),
    ],
    ['useClass', () => KqModule.forRootAsync({ useClass: Config })],
    ['useExisting', () => KqModule.forRootAsync({ imports: [ConfigModule], useExisting: Config })],
  ])('pushes and handles a message, registered by %s', async (_form, kq) => {
    const app = await start([kq()], Greeter);
    await app.get(Greeter).ask('Ada');
    await expect(app.get(Greeter).greeting).resolves.toBe(HELLO);
  });

  it('keeps clusters apart by their names', async () => {
    @Injectable()
    class Both {
      readonly seen: string[] = [];
      private done!: () => void;
      readonly all = new Promise<void>((resolve) => (this.done = resolve));

      constructor(
        readonly kq: KqPusher,
        @InjectKq('audit') readonly audit: KqPusher,
      ) {}

      @TopicHandler('t')
      plain(value: string): void {
        this.see(`plain ${value}`);
      }

      @TopicHandler('t', { cluster: 'audit' })
      audited(value: string): void {
        this.see(`audit ${value}`);
      }

      private see(text: string): void {
        this.seen.push(text);
        if (this.seen.length === 2) this.done();
      }
    }
    const audit = KqModule.forRoot({ logger, name: 'audit' });
    const app = await start([KqModule.forRoot({ logger }), audit], Both);
    const both = app.get(Both);
    expect(app.get(getKqToken('audit'))).toBe(both.audit);
    await both.audit.push('t', 'b');
    await both.kq.push('t', 'a');
    await both.all;
    expect(both.seen.toSorted()).toEqual(['audit b', 'plain a']);
    expect(await app.get<KqHealth>(getKqToken('audit', KqHealth)).check('a')).toMatchObject({
      a: { status: 'up', groups: { 'nest-kq': { state: 'up' } } },
    });
    expect(logger.matching(/^\[audit\] consuming t in the group nest-kq$/)).toHaveLength(1);
  });

  it.each<[string, DynamicModule[], RegExp]>([
    [
      'two modules of one name',
      [KqModule.forRoot({ logger }), KqModule.forRoot({ logger, clientId: 'b', brokers: ['x:1'] })],
      /^KQ_CONFIG: KqModule.forRoot or forRootAsync is imported 2 times without a name/,
    ],
    [
      'a handler of a cluster that there is not',
      [KqModule.forRoot({ logger, name: 'audit' })],
      /^KQ_CONFIG: Orphan.handle \(in .*\): its cluster is the unnamed one, which no KqModule/,
    ],
    [
      'brokers without a group',
      [KqModule.forRoot({ logger, brokers: ['127.0.0.1:1'] })],
      /^KQ_CONFIG: Orphan.handle \(in .*\): it has no `group`: set one in its options/,
    ],
  ])('refuses %s', async (_what, imports, message) => {
    class Orphan {
      @TopicHandler('t')
      handle(): void {}
    }
    await expect(start(imports, Orphan)).rejects.toThrow(message);
  });

  it('refuses options in the wrong place', () => {
    const inAsync = { useFactory: () => ({}), brokers: ['a:1'] };
    expect(() => KqModule.forRootAsync(inAsync)).toThrow(
      new KqError(
        'KQ_CONFIG',
        'forRootAsync got `brokers`, which belongs in the options its factory returns',
      ),
    );
    expect(() => KqModule.forRoot({ name: ' ' })).toThrow(
      "KQ_CONFIG: the cluster name is ' ': expected a non-empty string",
    );
    expect(() => getKqToken('a', Greeter as never)).toThrow(
      /expected one of KqPusher, KqEvents, KqHealth, KqGroups, KqDeadLetters$/,
    );
  });

  it('refuses the module itself, and a forgotten option in production', async () => {
    await expect(Test.createTestingModule({ imports: [KqModule] }).compile()).rejects.toThrow(
      'KQ_CONFIG: `imports` lists KqModule itself',
    );
    const before = process.env['NODE_ENV'];
    process.env['NODE_ENV'] = 'production';
    try {
      await expect(start([KqModule.forRoot({ logger })])).rejects.toThrow(
        'KQ_CONFIG: NODE_ENV is production, but no option sets where messages are stored',
      );
      await start([KqModule.forRoot({ logger, brokers: 'memory' })]);
    } finally {
      process.env['NODE_ENV'] = before;
    }
  });

  it('warns that messages are in memory where nobody asked for it', async () => {
    logger.lines.length = 0;
    await start([KqModule.forRoot({ logger, brokers: 'memory' })]);
    expect(logger.matching(/memory/)).toEqual([]);
    await start([KqModule.forRoot({ logger })]);
    expect(logger.matching(/^messages are stored in memory: they are lost when/)).toHaveLength(1);
  });
});
