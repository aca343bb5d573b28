import { readFileSync } from 'node:fs';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from '@jest/globals';
import { Injectable, Module, type DynamicModule, type LoggerService } from '@nestjs/common';
import { ConfigModule, ConfigService, registerAs, type ConfigType } from '@nestjs/config';
import { Test, type TestingModule } from '@nestjs/testing';
import {
  DqModule,
  InjectDq,
  duration,
  type DqError,
  type DqOptions,
  type DqOptionsFactory,
  type DqProducer,
} from 'nest-dq';
import type { ResolvedOptions } from 'nest-dq/src/nest/options.js';
import type { DqRuntime } from 'nest-dq/src/nest/runtime.js';
import { dqTokens } from 'nest-dq/src/nest/tokens.js';
import { closedAfterEach } from '../support/suite.js';

const SERVERS = { BEANSTALKS: '10.0.0.1:11300,10.0.0.2:11300,10.0.0.3:11300', REDIS_URL: 'redis://10.0.0.9' };
const apps = closedAfterEach<TestingModule>();

/** Made, and not started: nothing connects. */
async function compile(imports: unknown[], cluster?: string): Promise<ResolvedOptions> {
  const app = await Test.createTestingModule({ imports: imports as DynamicModule[] }).compile();
  apps.push(app);
  return app.get<DqRuntime>(dqTokens.of('runtime', cluster)).options;
}

async function refusal(imports: unknown[]): Promise<DqError> {
  return compile(imports).then(
    () => {
      throw new Error('it was taken');
    },
    (error: DqError) => error,
  );
}

/** The environment, as ConfigModule gives it. */
const environment = (values: Record<string, string>, isGlobal = true) =>
  ConfigModule.forRoot({ isGlobal, ignoreEnvFile: true, ignoreEnvVars: true, load: [() => values] });

function expectServers({ servers }: ResolvedOptions): void {
  expect(servers?.beanstalks.map(({ text }) => text)).toEqual(SERVERS.BEANSTALKS.split(','));
  expect(servers?.redis).toBe(SERVERS.REDIS_URL);
}

describe('forRootAsync', () => {
  const useFactory = (config: ConfigService) => ({
    beanstalks: config.getOrThrow<string>('BEANSTALKS').split(','),
    redis: config.getOrThrow<string>('REDIS_URL'),
  });

  it('takes a factory that gets the ConfigService', async () => {
    const dq = DqModule.forRootAsync({ inject: [ConfigService], useFactory });
    expectServers(await compile([environment(SERVERS), dq]));
  });

  it('imports the module of what it injects, where that is not global', async () => {
    const imports = [environment(SERVERS, false)];
    expectServers(await compile([DqModule.forRootAsync({ imports, inject: [ConfigService], useFactory })]));
  });

  it('awaits its factory', async () => {
    const slowly = async (config: ConfigService) => useFactory(config);
    const dq = DqModule.forRootAsync({ inject: [ConfigService], useFactory: slowly });
    expectServers(await compile([environment(SERVERS), dq]));
  });

  it('fails with what the factory throws', async () => {
    const dq = DqModule.forRootAsync({ inject: [ConfigService], useFactory });
    const error = await refusal([environment({ REDIS_URL: SERVERS.REDIS_URL }), dq]);
    expect(error.message).toMatch(/BEANSTALKS/);
  });

  it('never keeps jobs in memory for want of a variable', async () => {
    const lenient = (config: ConfigService) => ({
      beanstalks: config.get<string>('BEANSTALKS')?.split(','),
      redis: config.get<string>('REDIS_URL'),
    });
    const dq = DqModule.forRootAsync({ inject: [ConfigService], useFactory: lenient });
    expect(await refusal([environment({}), dq])).toMatchObject({ code: 'DQ_CONFIG' });
  });

  it.each([
    ['in memory', {}, undefined],
    ['on servers', SERVERS, 3],
  ])('takes what the environment says: %s', async (_where, values, nodes) => {
    const dq = DqModule.forRootAsync({
      inject: [ConfigService],
      useFactory: (config: ConfigService) =>
        config.get('BEANSTALKS') ? useFactory(config) : { embedded: 'memory' as const },
    });
    expect(
      (await compile([environment(values as Record<string, string>), dq])).servers?.beanstalks.length,
    ).toBe(nodes);
  });

  const shutdownTimeout: string = '20s'; // as of the environment
  const dqConfig = registerAs('dq', (): DqOptions => ({
    beanstalks: SERVERS.BEANSTALKS.split(','),
    redis: SERVERS.REDIS_URL,
    shutdownTimeout: duration(shutdownTimeout),
  }));

  it('takes a namespace of the configuration', async () => {
    const dq = DqModule.forRootAsync({
      imports: [ConfigModule.forFeature(dqConfig)],
      inject: [dqConfig.KEY],
      useFactory: (config: ConfigType<typeof dqConfig>) => config,
    });
    const options = await compile([dq]);
    expectServers(options);
    expect(options.shutdownTimeout).toBe(20_000);
  });

  it('takes a namespace as it provides itself', async () => {
    expectServers(await compile([DqModule.forRootAsync(dqConfig.asProvider())]));
  });

  @Injectable()
  class DqConfig implements DqOptionsFactory {
    constructor(private readonly config: ConfigService) {}

    createDqOptions(): DqOptions {
      return useFactory(this.config);
    }
  }

  it('takes a class that has createDqOptions', async () => {
    expectServers(await compile([environment(SERVERS), DqModule.forRootAsync({ useClass: DqConfig })]));
  });

  it('takes an existing instance of a class', async () => {
    @Module({ providers: [DqConfig], exports: [DqConfig] })
    class Configuration {}
    const dq = DqModule.forRootAsync({ imports: [Configuration], useExisting: DqConfig });
    expectServers(await compile([environment(SERVERS), dq]));
  });

  it('gets a logger from where it is injected, like any other option', async () => {
    const lines: string[] = [];
    const log = (line: string) => void lines.push(line);
    const logger: LoggerService = { log, warn: log, error: log };
    @Module({ providers: [{ provide: 'LOGGER', useValue: logger }], exports: ['LOGGER'] })
    class Logging {}
    const dq = DqModule.forRootAsync({
      imports: [Logging],
      inject: ['LOGGER'],
      useFactory: (given: LoggerService) => ({ logger: given }),
    });
    (await compile([dq])).logger.warn('a line');
    expect(lines).toEqual(['a line']);
  });

  it('has the name of its cluster next to its factory', async () => {
    @Injectable()
    class Mails {
      constructor(@InjectDq('mails') readonly dq: DqProducer) {}
    }
    const plain = DqModule.forRootAsync({ inject: [ConfigService], useFactory });
    const mails = DqModule.forRootAsync({
      name: 'mails',
      inject: [ConfigService],
      useFactory: (config: ConfigService) => ({ ...useFactory(config), prefix: 'mails.' }),
    });
    const module = { module: class Shop {}, providers: [Mails] };
    const options = await compile([environment(SERVERS), plain, mails, module], 'mails');
    expect([options.prefix, options.servers?.beanstalks.length]).toEqual(['mails.', 3]);
    expect(apps[0]!.get<DqRuntime>(dqTokens.of('runtime')).options.prefix).toBe('');
  });
});

describe('the page', () => {
  const page = readFileSync(new URL('../../docs/options.md', import.meta.url), 'utf8');
  const rows = [...page.matchAll(/^\| `(\{.*?\})` +\| (.*?) +\|$/gm)].map(
    ([, given, message]) => [given!, message!] as const,
  );

  it('shows the errors for wrong options', () => {
    expect(rows.length).toBeGreaterThan(10);
  });

  it.each(rows)('says the truth about %s', async (given, message) => {
    const options = runInNewContext(`(${given})`) as DqOptions;
    const error = await refusal([DqModule.forRootAsync({ useFactory: () => options })]);
    expect(error.message).toBe(`DQ_CONFIG: ${message}`);
  });
});
