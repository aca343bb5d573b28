import 'reflect-metadata';
import { type INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DqModule, type DqOptions } from 'nest-dq';
import { startBeanstalkd, startRedis, type BeanstalkdServer, type RedisServer } from 'test-servers';

/** Real servers and a Nest application on them: three beanstalkds with binlogs, a Redis with AOF. */
export interface BenchCluster {
  readonly app: INestApplicationContext;
  readonly beanstalkds: readonly BeanstalkdServer[];
  readonly redis: RedisServer;
  stop(): Promise<void>;
}

export async function startCluster(options: DqOptions = {}): Promise<BenchCluster> {
  const [redis, ...beanstalkds] = await Promise.all([
    startRedis(),
    startBeanstalkd(),
    startBeanstalkd(),
    startBeanstalkd(),
  ]);
  const beanstalkdEndpoints = beanstalkds.map(({ endpoint }) => endpoint);
  const app = await NestFactory.createApplicationContext(
    DqModule.forRoot({ beanstalks: beanstalkdEndpoints, redis: redis.url, ...options }),
    { logger: ['error', 'warn'] },
  );
  app.enableShutdownHooks();
  return {
    app,
    beanstalkds,
    redis,
    stop: async () => {
      await app.close();
      await Promise.all([redis, ...beanstalkds].map((server) => server.stop()));
    },
  };
}
