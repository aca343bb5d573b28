import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  Controller,
  Get,
  Module,
  ServiceUnavailableException,
  type INestApplicationContext,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { HealthCheck, HealthCheckService, TerminusModule } from '@nestjs/terminus';
import { DqEvents, DqHealth, DqModule, getDqToken, type DqHealthState } from 'nest-dq';
import { firstValueFrom } from 'rxjs';
import { eventually } from 'test-servers';
import { optionsOf, startServers, type Servers } from '../support/system.js';

@Controller('health')
class HealthController {
  constructor(
    private readonly health: HealthCheckService,
    private readonly dq: DqHealth,
  ) {}

  @Get()
  @HealthCheck()
  check() {
    return this.health.check([() => this.dq.check()]);
  }
}

const quiet = { log: () => undefined, warn: () => undefined, error: () => undefined };

describe('the health of a cluster, by @nestjs/terminus', () => {
  let servers: Servers;
  let app: INestApplicationContext;

  beforeAll(async () => {
    servers = await startServers();
    const cluster = DqModule.forRoot({ ...optionsOf(servers), logger: quiet });
    const mails = DqModule.forRoot({ name: 'mails', logger: quiet });
    @Module({
      imports: [cluster, mails, TerminusModule.forRoot({ logger: false })],
      controllers: [HealthController],
    })
    class AppModule {}
    app = await NestFactory.createApplicationContext(AppModule, { logger: false });
  }, 60_000);

  afterAll(async () => {
    await app?.close();
    await servers?.stop();
  });

  /** The answer of the route, whatever its status. */
  const answer = async (): Promise<{ status: string; details: { dq: DqHealthState } }> => {
    try {
      return (await app.get(HealthController).check()) as never;
    } catch (error) {
      if (error instanceof ServiceUnavailableException) return error.getResponse() as never;
      throw error;
    }
  };
  const statusIs = (status: 'ok' | 'error') =>
    eventually(`it is ${status}`, async () => (await answer()).status === status);

  it('is ok with all nodes and Redis', async () => {
    await statusIs('ok');
    const nodes = Object.fromEntries(servers.beanstalkds.map(({ endpoint }) => [endpoint, 'up']));
    expect((await answer()).details).toEqual({ dq: { status: 'up', nodes, redis: 'up' } });
  });

  it('stays ok with one node less, and says which and why; not with two less', async () => {
    const [one, two] = servers.beanstalkds as [Servers['beanstalkds'][0], Servers['beanstalkds'][0]];
    const down = firstValueFrom(app.get(DqEvents).on('nodeDown'));
    await one.kill();
    expect(await down).toMatchObject({ node: one.endpoint, error: expect.any(Error) });
    const { status, details } = await answer();
    expect(status).toBe('ok');
    expect(details.dq.nodes).toMatchObject({
      [one.endpoint]: expect.stringMatching(/CONNECTION_LOST|ECONN/),
      [two.endpoint]: 'up',
    });
    await two.kill();
    await statusIs('error');
    await Promise.all([one.restart(), two.restart()]);
    await statusIs('ok');
  });

  it('is an error within seconds when Redis freezes, although nothing else asks it', async () => {
    servers.redis.freeze();
    try {
      const { status, details } = await answer();
      expect([status, details.dq.redis]).toEqual(['error', 'down']);
    } finally {
      servers.redis.thaw();
    }
    await statusIs('ok');
  });

  it('is asked by name for a named cluster, and has no Redis in memory', async () => {
    const mails = app.get<DqHealth>(getDqToken('mails', DqHealth));
    await eventually('the embedded node answers', async () => (await mails.check()).dq.status === 'up');
    expect(await mails.check('mails')).toEqual({
      mails: { status: 'up', nodes: { embedded: 'up' }, redis: 'none' },
    });
  });
});
