// Traces of a dashboard in its application: lines in the log, routes, conflicts.
import { afterEach, describe, expect, it } from '@jest/globals';
import { Controller, Get, Logger, type DynamicModule } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { DqModule } from 'nest-dq';
import { DqDashboardModule } from 'nest-dq/dashboard';
import { PLATFORMS, ServedApp, type Platform } from './served-app.js';

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** Everything that an application logs at its start. */
async function startLog(platform: Platform, prefix: string): Promise<string[]> {
  const lines: string[] = [];
  const log = (line: unknown) => void lines.push(String(line));
  const module: DynamicModule = {
    module: class AppModule {},
    imports: [DqModule.forRoot({ embedded: 'memory' }), DqDashboardModule.forRoot()],
  };
  const options = { logger: { log, warn: log, error: log }, abortOnError: false };
  const app = await (platform === 'express'
    ? NestFactory.create(module, options)
    : NestFactory.create(module, new FastifyAdapter(), options));
  closing.push(async () => {
    await app.close();
    Logger.overrideLogger(false);
  });
  app.setGlobalPrefix(prefix);
  await app.init();
  return lines;
}

describe.each(PLATFORMS)('with %s', (platform) => {
  it('maps a dozen routes at most, and warns with the path below the global prefix', async () => {
    const lines = await startLog(platform, 'api');
    const mapped = lines.filter((line) => /^Mapped .*dq/.test(line));
    expect(mapped.length).toBeGreaterThan(0);
    expect(mapped.length).toBeLessThanOrEqual(12);
    expect(lines).toContainEqual(
      expect.stringContaining('everyone on this machine can see and do everything at /api/dq; set'),
    );
  });

  it('leaves the other routes below its path to the application', async () => {
    @Controller('admin')
    class Others {
      @Get('users/:id')
      user(): string {
        return 'a user';
      }
    }
    const imports = [{ module: class OthersModule {}, controllers: [Others] }];
    const served = await ServedApp.start({ platform, imports, dashboard: { path: '/admin' } });
    expect((await served.get('/admin/users/7')).text).toBe('a user');
    expect((await served.get('/admin/api/session')).status).toBe(200);
  });
});

it('an API document of @nestjs/swagger leaves its routes out', () => {
  const { controllers = [] } = DqDashboardModule.forRoot();
  for (const controller of controllers)
    expect(Reflect.getMetadata('swagger/apiExcludeController', controller)).toEqual([true]);
  expect(controllers).toHaveLength(1);
});

it('two dashboards at one path are DQ_CONFIG', async () => {
  const mails = [DqModule.forRoot({ name: 'mails', embedded: 'memory' })];
  const start = (path: string) =>
    ServedApp.start({
      dashboard: { path: '/ops' },
      imports: [...mails, DqDashboardModule.forRoot({ cluster: 'mails', path })],
    });
  await expect(start('ops')).rejects.toThrow(
    /^DQ_CONFIG: two dashboards have the path \/ops, of the clusters .*"mails".*: expected another `path`/,
  );
  await expect(start('/ops/mails')).resolves.toBeDefined();
});
