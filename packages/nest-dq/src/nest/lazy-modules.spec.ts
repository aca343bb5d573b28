import { beforeEach, describe, expect, it } from '@jest/globals';
import { Injectable, Module, type Type } from '@nestjs/common';
import { LazyModuleLoader } from '@nestjs/core';
import { Test, type TestingModule } from '@nestjs/testing';
import { DqConsumer } from '../consumer/consumer.js';
import { DqProducer } from '../producer/producer.js';
import { CollectingLogger } from '../../spec-support/collecting-logger.js';
import { DelayedHandler } from './delayed-handler.js';
import { DqModule } from './dq-module.js';
import { OnDq } from './on-dq.js';
import type { DqOptions } from './options.js';
import { Recurring } from './recurring.js';

let logger: CollectingLogger;
let seen: string[];
let ran: () => void;
let running: Promise<void>;

beforeEach(() => {
  logger = new CollectingLogger();
  seen = [];
  running = new Promise((resolve) => (ran = resolve));
});

@Injectable()
class Mails {
  @DelayedHandler('mail')
  send(to: string): void {
    seen.push(to);
  }

  @OnDq('completed')
  completed(): void {
    seen.push('completed');
    ran();
  }
}

@Injectable()
class Orders {
  @DelayedHandler('order')
  run(): void {}
}

@Module({ providers: [Mails] })
class MailsModule {}

@Module({ imports: [MailsModule] })
class LazyModule {}

async function start(options: DqOptions = {}, ...providers: Type[]): Promise<TestingModule> {
  const imports = [DqModule.forRoot({ logger, ...options })];
  const app = await Test.createTestingModule({ imports, providers }).compile();
  return app.init();
}

describe('a module that is loaded lazily', () => {
  it('has handlers and listeners, which work from then on, once', async () => {
    const app = await start({}, Orders);
    await app.get(DqProducer).now('mail', 'ann');
    const loader = app.get(LazyModuleLoader);
    const ref = await loader.load(() => LazyModule);
    expect(await loader.load(() => LazyModule)).toBe(ref);
    expect(await loader.load(() => MailsModule)).not.toBe(ref);
    await running;
    expect(seen).toEqual(['ann', 'completed']);
    expect(logger.matching(/consumes/)).toEqual(['consumes order', 'consumes mail']);
    await app.close();
  });

  it('has them even when it is loaded while the application starts', async () => {
    @Injectable()
    class Loading {
      constructor(private readonly loader: LazyModuleLoader) {}

      async onModuleInit(): Promise<void> {
        await this.loader.load(() => LazyModule);
      }
    }
    const app = await start({}, Loading);
    await app.get(DqProducer).now('mail', 'ann');
    await running;
    expect(seen).toEqual(['ann', 'completed']);
    await app.close();
  });

  it('has its series scheduled', async () => {
    @Injectable()
    class Nightly {
      @Recurring('nightly', {
        name: 'once',
        next: (after) => (seen.length > 0 ? undefined : new Date(after.getTime() + 1)),
      })
      run(): void {
        seen.push('nightly');
        ran();
      }
    }
    @Module({ providers: [Nightly] })
    class NightlyModule {}
    const app = await start();
    await app.get(LazyModuleLoader).load(() => NightlyModule);
    await running;
    await app.close();
  });

  it('is refused where a tube has a handler already', async () => {
    @Injectable()
    class Again {
      @DelayedHandler('order')
      run(): void {}
    }
    @Module({ providers: [Again] })
    class AgainModule {}
    const app = await start({}, Orders);
    const loaded = app.get(LazyModuleLoader).load(() => AgainModule);
    await expect(loaded).rejects.toThrow(/DQ_CONFIG: tube "order" has two handlers/);
    await app.close();
  });

  it('is checked, and not run, with `consume: false`', async () => {
    const app = await start({ consume: false });
    await app.get(LazyModuleLoader).load(() => LazyModule);
    expect(logger.matching(/consume/)).toEqual([expect.stringMatching(/^not consuming mail/)]);
    await app.close();
    expect(seen).toEqual([]);
  });

  it('may be loaded once the consumer was stopped by hand, and only its listeners work', async () => {
    const app = await start();
    await app.get(DqConsumer).stop();
    await app.get(LazyModuleLoader).load(() => LazyModule);
    await app.get(DqProducer).now('mail', 'ann');
    await app.close();
    expect(seen).toEqual([]);
  });

  it('may be loaded after the end', async () => {
    const app = await start();
    await app.close();
    await app.get(LazyModuleLoader).load(() => LazyModule);
  });
});
