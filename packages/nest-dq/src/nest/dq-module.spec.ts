import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { Injectable, Module, type DynamicModule, type OnModuleInit, type Type } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { DqConsumer } from '../consumer/consumer.js';
import { DqError } from '../errors.js';
import type { DelayedJob } from '../api/job.js';
import { DqProducer } from '../producer/producer.js';
import { CollectingLogger } from '../../spec-support/collecting-logger.js';
import { DelayedHandler } from './delayed-handler.js';
import { DqModule } from './dq-module.js';
import type { DqOptions } from './options.js';

@Injectable()
class Greeter {
  private greeted!: (text: string) => void;
  readonly greeting = new Promise<string>((resolve) => (this.greeted = resolve));

  constructor(private readonly dq: DqProducer) {}

  async ask(name: string): Promise<void> {
    await this.dq.now('greet', { name });
  }

  @DelayedHandler('greet')
  greet({ name }: { name: string }, job: DelayedJob): void {
    this.greeted(`hello ${name}, attempt ${job.attempt}`);
  }
}

const logger = new CollectingLogger();

@Injectable()
class Config {
  readonly options: DqOptions = { logger };

  createDqOptions(): DqOptions {
    return this.options;
  }
}

@Module({ providers: [Config], exports: [Config] })
class ConfigModule {}

async function start(dq: DynamicModule, ...providers: Type[]): Promise<TestingModule> {
  const app = await Test.createTestingModule({ imports: [dq], providers }).compile();
  return app.init();
}

function refusal(call: () => unknown): DqError {
  try {
    call();
  } catch (error) {
    if (error instanceof DqError) return error;
    throw error;
  }
  throw new Error('it was not refused');
}

describe('DqModule', () => {
  it.each<[string, () => DynamicModule]>([
    ['forRoot with options', () => DqModule.forRoot({ logger })],
    ['useFactory', () => DqModule.forRootAsync({ useFactory: () => ({ logger }) })],
    ['an async useFactory', () => DqModule.forRootAsync({ useFactory: async () => ({ logger }) })],
    [
      'useFactory with what it injects',
      () =>
        DqModule.forRootAsync({
          imports: [ConfigModule],
          inject: [Config],
          useFactory: ({ options }: Config) => options,
        }),
    ],
    ['useClass', () => DqModule.forRootAsync({ useClass: Config })],
    ['useExisting', () => DqModule.forRootAsync({ imports: [ConfigModule], useExisting: Config })],
  ])('runs a job, registered by %s', async (_form, dq) => {
    const app = await start(dq(), Greeter);
    await app.get(Greeter).ask('Ada');
    await expect(app.get(Greeter).greeting).resolves.toBe('hello Ada, attempt 1');
    await app.close();
  });

  describe('with keys of a seal that come from a function', () => {
    @Injectable()
    class Early extends Greeter implements OnModuleInit {
      onModuleInit(): Promise<void> {
        return this.ask('Ada');
      }
    }

    it('has them before any other module adds a job', async () => {
      const keys = async () => ({ keys: { a: randomBytes(32) }, current: 'a' });
      const app = await start(DqModule.forRoot({ logger, seal: { keys } }), Early);
      await expect(app.get(Early).greeting).resolves.toBe('hello Ada, attempt 1');
      await app.close();
    });

    it('does not start without them', async () => {
      const keys = () => Promise.reject(new Error('the vault is sealed'));
      await expect(start(DqModule.forRoot({ logger, seal: { keys } }), Early)).rejects.toThrow(
        'DQ_CONFIG: `seal.keys` failed: the vault is sealed',
      );
    });
  });

  it('needs no options', async () => {
    const app = await Test.createTestingModule({ imports: [DqModule.forRoot()], providers: [Greeter] })
      .setLogger(logger)
      .compile();
    await app.init();
    await app.get(Greeter).ask('Ada');
    await expect(app.get(Greeter).greeting).resolves.toBe('hello Ada, attempt 1');
    await app.close();
  });

  it('is global, and need not be', async () => {
    @Module({ providers: [Greeter] })
    class Feature {}
    const compile = (dq: DynamicModule) => Test.createTestingModule({ imports: [dq, Feature] }).compile();
    const app = await compile(DqModule.forRoot({ logger }));
    await app.close();
    await expect(compile(DqModule.forRoot({ logger, isGlobal: false }))).rejects.toThrow(/DqProducer/);
    const options = { useFactory: () => ({ logger }), isGlobal: false };
    await expect(compile(DqModule.forRootAsync(options))).rejects.toThrow(/DqProducer/);
  });

  it('exports the consumer, whose handlers run too', async () => {
    const app = await start(DqModule.forRoot({ logger }));
    const ran = new Promise<unknown>((resolve, reject) => {
      app.get(DqConsumer).consume('by hand', resolve).catch(reject);
    });
    await expect(ran).rejects.toMatchObject({ code: 'DQ_BAD_TUBE' });
    const payload = new Promise<unknown>((resolve, reject) => {
      app.get(DqConsumer).consume('by.hand', resolve).catch(reject);
    });
    await app.get(DqProducer).now('by.hand', 42);
    await expect(payload).resolves.toBe(42);
    await app.close();
  });

  it('shares nothing with another application in the process', async () => {
    const [first, second] = [
      await start(DqModule.forRoot({ logger }), Greeter),
      await start(DqModule.forRoot({ logger })),
    ];
    expect(first.get(DqProducer)).not.toBe(second.get(DqProducer));
    await second.get(DqProducer).now('greet', { name: 'the wrong one' });
    await second.close();
    await first.get(Greeter).ask('Ada');
    await expect(first.get(Greeter).greeting).resolves.toBe('hello Ada, attempt 1');
    await first.close();
  });

  it('refuses to be imported twice in one application', async () => {
    @Module({ imports: [DqModule.forRoot({ logger })] })
    class Feature {}
    const app = await Test.createTestingModule({
      imports: [DqModule.forRoot({ logger }), Feature],
    }).compile();
    await expect(app.init()).rejects.toThrow(
      /DQ_CONFIG: DqModule.forRoot or forRootAsync is imported 2 times without a name, by RootTestModule and Feature:/,
    );
    await app.close();
  });

  it('names its own limit where a payload is too large for the embedded node', async () => {
    const app = await start(DqModule.forRoot({ logger }));
    const error = await app
      .get(DqProducer)
      .now('t', 'x'.repeat(70_000))
      .catch((thrown: Error) => thrown);
    expect((error as Error).message).toMatch(/: expected at most 65535, the limit of the embedded node$/);
    await app.close();
  });

  it('refuses wrong options at the start of the application', async () => {
    await expect(start(DqModule.forRoot({ advanced: { lease: '1s' } }))).rejects.toMatchObject({
      code: 'DQ_CONFIG',
    });
    const nothing = (): DqOptions => undefined as unknown as DqOptions;
    await expect(start(DqModule.forRootAsync({ useFactory: nothing }))).rejects.toThrow(
      /undefined: expected an object/,
    );
    const servers = { beanstalks: undefined, redis: 'redis://localhost' };
    await expect(start(DqModule.forRoot(servers))).rejects.toThrow(/`beanstalks` is undefined/);
    await expect(start(DqModule.forRootAsync({ useFactory: () => servers }))).rejects.toThrow(
      /`beanstalks` is undefined/,
    );
  });

  it('refuses to be imported without forRoot, even next to one', async () => {
    @Module({ imports: [DqModule] })
    class Feature {}
    for (const imports of [[DqModule], [DqModule.forRoot({ logger }), Feature]]) {
      const compiled = Test.createTestingModule({ imports, providers: [Greeter] }).compile();
      await expect(compiled).rejects.toThrow(/DQ_CONFIG: `imports` lists DqModule itself/);
    }
  });

  it('refuses invalid arguments where they are written', () => {
    const besides = { useFactory: () => ({}), patience: '5s' };
    expect(refusal(() => DqModule.forRootAsync(besides)).message).toMatch(
      /`patience`, which belongs in the options its factory/,
    );
    expect(refusal(() => DqModule.forRoot(null as unknown as DqOptions)).message).toMatch(/got null/);
  });
});
