import { afterEach, describe, expect, it } from '@jest/globals';
import { Logger, Module, type DynamicModule } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { DqModule } from '../nest/dq-module.js';
import { environmentOf } from './options.js';
import { DqDashboardModule, type DqDashboardExtras, type DqDashboardOptions } from './dashboard-module.js';

Logger.overrideLogger(false);

type Options = DqDashboardOptions & DqDashboardExtras;

const environment = process.env['NODE_ENV'];
afterEach(() => {
  process.env['NODE_ENV'] = environment;
});

/** Starts an application with these modules, and ends it. */
async function start(...imports: DynamicModule[]): Promise<void> {
  const dq = DqModule.forRoot({ embedded: 'memory' });
  const module = await Test.createTestingModule({ imports: [dq, ...imports] }).compile();
  const app = module.createNestApplication();
  try {
    await app.init();
  } finally {
    await app.close();
  }
}

/** The error of the start, if any. */
async function refusal(options: object): Promise<string | undefined> {
  try {
    await start(DqDashboardModule.forRoot(options as Options));
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

describe('a wrong option is DQ_CONFIG, with its value', () => {
  it.each<[options: object, part: string]>([
    [{ path: '' }, '`path` is ""'],
    [{ path: '/' }, '`path` is "/"'],
    [{ path: '/dq/' }, '`path` is "/dq/"'],
    [{ path: '/:tenant/dq' }, '`path` is "/:tenant/dq"'],
    [{ path: 7 }, '`path` is 7'],
    [{ guards: {} }, '`guards` is {}'],
    [{ guards: [{}] }, '`guards[0]` is {}'],
    [{ guards: [undefined] }, '`guards[0]` is undefined'],
    [{ decorators: ['x'] }, '`decorators[0]` is "x"'],
    [{ cluster: ' ' }, 'the cluster name is " "'],
    [{ access: 'read' }, '`access` is "read"'],
    [{ redact: true }, '`redact` is true'],
    [{ readOnly: 'yes' }, '`readOnly` is "yes"'],
    [{ readonly: true }, 'unknown option "readonly"'],
    [{ environment: ' ' }, '`environment` is " "'],
    [{ environment: null }, '`environment` is null'],
    [{ environment: { name: 'x'.repeat(41) } }, '`environment` is {"name":"…'],
    [{ environment: { name: 'staging', tone: 'red' } }, '`environment.tone` is "red"'],
    [{ cluster: 'mails' }, 'the cluster of the dashboard is "mails", which does not exist'],
  ])('%j', async (options, part) => {
    const message = await refusal(options);
    expect(message).toMatch(/^DQ_CONFIG: /);
    expect(message).toContain(part);
  });

  it.each([7, null])('forRoot(%j)', (options) => {
    expect(() => DqDashboardModule.forRoot(options as unknown as Options)).toThrow(
      `DqDashboardModule.forRoot got ${options}`,
    );
  });

  it('the module without forRoot', async () => {
    @Module({ imports: [DqDashboardModule] })
    class AppModule {}
    await expect(start({ module: AppModule })).rejects.toThrow('`imports` lists DqDashboardModule itself');
  });
});

describe('the environment', () => {
  it.each([
    ['production', 'danger'],
    ['LIVE', 'danger'],
    ['staging', 'calm'],
    ['pre-production', 'calm'],
  ])('%s is %s by default', (name, tone) => {
    expect(environmentOf({ environment: name })).toEqual({ name, tone });
    expect(environmentOf({ environment: { name, tone: 'warning' } })).toEqual({ name, tone: 'warning' });
  });

  it('is absent without the option', () => {
    expect(environmentOf({})).toBeUndefined();
  });
});

describe('closed by default', () => {
  const guard = { canActivate: () => true };

  it.each(['production', 'staging', 'Development'])('NODE_ENV %s needs guards or access', async (name) => {
    process.env['NODE_ENV'] = name;
    expect(await refusal({})).toMatch(
      `DQ_CONFIG: NODE_ENV is "${name}", and the dashboard at /dq has neither \`guards\` nor \`access\``,
    );
    expect(await refusal({ readOnly: true })).toContain('neither `guards` nor `access`');
    expect(await refusal({ guards: [guard] })).toBeUndefined();
    expect(await refusal({ access: () => 'read' })).toBeUndefined();
  });

  it.each(['development', 'test', undefined])('NODE_ENV %s does not', async (name) => {
    if (name === undefined) delete process.env['NODE_ENV'];
    else process.env['NODE_ENV'] = name;
    expect(await refusal({})).toBeUndefined();
  });

  it('what the factory of forRootAsync returns is checked, too', async () => {
    process.env['NODE_ENV'] = 'production';
    const made = (options: unknown) =>
      start(DqDashboardModule.forRootAsync({ useFactory: () => options as DqDashboardOptions }));
    await expect(made({})).rejects.toThrow('neither `guards` nor `access`');
    await expect(made(undefined)).rejects.toThrow('the factory of DqDashboardModule is undefined');
    await expect(made({ path: '/dq' })).rejects.toThrow('the factory returned `path`');
    expect(() =>
      DqDashboardModule.forRootAsync({ useFactory: () => ({}), access: () => 'read' } as object),
    ).toThrow('forRootAsync got `access`');
    await expect(made({ access: () => 'read' })).resolves.toBeUndefined();
  });
});
