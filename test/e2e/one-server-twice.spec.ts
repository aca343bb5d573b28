import { expect, it } from '@jest/globals';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DqModule } from 'nest-dq';
import { clusterSuite } from '../support/suite.js';

const suite = clusterSuite();

it('a server that two names lead to is refused at the start', async () => {
  const { beanstalkds, redis } = suite.servers;
  const [{ endpoint, port }, other] = beanstalkds as [(typeof beanstalkds)[0], (typeof beanstalkds)[0]];
  const beanstalks = [endpoint, other.endpoint, `localhost:${port}`];
  const quiet = { log: () => undefined, warn: () => undefined, error: () => undefined };
  @Module({ imports: [DqModule.forRoot({ beanstalks, redis: redis.url, logger: quiet })] })
  class AppModule {}
  const starting = NestFactory.createApplicationContext(AppModule, { logger: false, abortOnError: false });
  await expect(starting).rejects.toMatchObject({
    code: 'DQ_CONFIG',
    message: expect.stringMatching(/ are one server: expected each server once$/),
  });
}, 60_000);
