import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { CollectingLogger } from '../../spec-support/collecting-logger.js';
import { VirtualClock } from 'nest-handlers/testing';
import { DelayedHandler } from './delayed-handler.js';
import { DqModule } from './dq-module.js';
import { ENVIRONMENT, realEnvironment } from './environment.js';
import type { DqOptions } from './options.js';
import { Recurring } from './recurring.js';

@Injectable()
class Mails {
  @DelayedHandler('mail')
  mail(): void {}
  @Recurring('digest', { name: 'never', next: () => undefined })
  digest(): void {}
}

let logger: CollectingLogger;
beforeEach(() => {
  logger = new CollectingLogger();
});

function compile(options: DqOptions, providers = [Mails], clock?: VirtualClock): Promise<TestingModule> {
  const imports = [DqModule.forRoot({ logger, ...options })];
  const builder = Test.createTestingModule({ imports, providers });
  if (clock) builder.overrideProvider(ENVIRONMENT).useValue({ ...realEnvironment, clock });
  return builder.compile();
}

describe('what is logged at the start', () => {
  async function startAndClose(options: DqOptions = {}, providers = [Mails]): Promise<void> {
    const app = await compile(options, providers);
    try {
      await app.init();
    } finally {
      await app.close();
    }
  }

  it('warns once that jobs are stored in memory, unless that was asked for', async () => {
    await startAndClose({ embedded: 'memory' });
    expect(logger.matching(/memory/)).toEqual([]);
    await startAndClose();
    expect(logger.matching(/memory/)).toEqual([expect.stringMatching(/^jobs are stored in memory/)]);
  });

  it('starts in production with jobs in memory only where that was asked for', async () => {
    const env = process.env['NODE_ENV'];
    process.env['NODE_ENV'] = 'production';
    try {
      await expect(startAndClose()).rejects.toThrow(
        /DQ_CONFIG: NODE_ENV is production, but no option sets where jobs are stored.*`embedded: 'memory'`/,
      );
      await startAndClose({ embedded: 'memory' });
    } finally {
      process.env['NODE_ENV'] = env;
    }
    expect(logger.matching(/memory/)).toEqual([]);
  });

  it.each<[string, DqOptions, boolean, number]>([
    ['warns after a second when nothing listens to SIGTERM', {}, false, 1],
    ['does not warn of SIGTERM when the application listens to it', {}, true, 0],
    ['does not warn of SIGTERM when no handler runs here', { consume: false }, false, 0],
  ])('%s', async (_what, options, hooks, warnings) => {
    const clock = new VirtualClock();
    const app = await compile(options, [Mails], clock);
    await app.init();
    if (hooks) app.enableShutdownHooks();
    await clock.advance(999);
    expect(logger.matching(/SIGTERM/)).toEqual([]);
    await clock.advance(1);
    expect(logger.matching(/SIGTERM.*app\.enableShutdownHooks\(\)/)).toHaveLength(warnings);
    await Promise.all([app.close(), clock.advance(20_000)]);
  });

  it('names the tubes that are consumed', async () => {
    await startAndClose({}, []);
    await startAndClose({ consume: false });
    const notHere = 'not consuming mail, digest in this process: `consume` is false';
    expect(logger.matching(/consume/)).toEqual([notHere]);
    await startAndClose();
    expect(logger.matching(/consumes/)).toEqual(['consumes mail, digest']);
  });

  it('says once that no server answers, starts all the same, and ends', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    server.close();
    await once(server, 'close');
    const app = await compile({ beanstalks: [address], redis: `redis://${address}` });
    const told = new Promise<void>((resolve) => {
      jest.spyOn(logger, 'warn').mockImplementation((message) => {
        logger.lines.push({ level: 'warn', message });
        if ([/is down; retrying/, /Redis is down/].every((each) => logger.matching(each).length > 0))
          resolve();
      });
    });
    await app.init();
    await told;
    await app.close();
    expect(logger.matching(/is down; retrying/)).toHaveLength(1);
    expect(logger.matching(/Redis is down/)).toHaveLength(1);
  });
});
