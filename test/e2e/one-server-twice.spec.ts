import { expect, it } from '@jest/globals';
import { Module, type INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DqHealth, DqModule, DqProducer, type DqOptions } from 'nest-dq';
import { Authority, eventually, Proxy, startStunnel } from 'test-servers';
import { clusterSuite } from '../support/suite.js';

const suite = clusterSuite();

function start(
  beanstalks: readonly string[],
  errors: string[] = [],
  tls?: DqOptions['tls'],
): Promise<INestApplicationContext> {
  const logger = {
    log: () => undefined,
    warn: () => undefined,
    error: (message: string) => void errors.push(message),
  };
  const redis = suite.servers.redis.url;
  @Module({ imports: [DqModule.forRoot({ beanstalks, redis, logger, tls })] })
  class AppModule {}
  return NestFactory.createApplicationContext(AppModule, { logger: false, abortOnError: false });
}

it('a server that two names lead to is refused at the start', async () => {
  const [one, other] = suite.servers.beanstalkds;
  await expect(start([one!.endpoint, other!.endpoint, `localhost:${one!.port}`])).rejects.toMatchObject({
    code: 'DQ_CONFIG',
    message: expect.stringMatching(/ are the same server: expected each server once$/),
  });
}, 60_000);

it('a server that is reached with TLS and without it is refused, too', async () => {
  const authority = await Authority.make();
  const [one] = suite.servers.beanstalkds;
  const stunnel = await startStunnel({ target: one!, certificate: await authority.issue() });
  try {
    await expect(
      start([one!.endpoint, stunnel.endpoint], [], { ca: authority.certificate }),
    ).rejects.toMatchObject({
      code: 'DQ_CONFIG',
      message: expect.stringMatching(/tls:\/\/.* are the same server: expected each server once$/),
    });
  } finally {
    await stunnel.stop();
  }
}, 60_000);

it('a server that a second name leads to later gets no second copy, and log and health say why', async () => {
  const [one, other] = suite.servers.beanstalkds;
  const name = await Proxy.to(one!);
  name.cut();
  const errors: string[] = [];
  const app = await start([one!.endpoint, other!.endpoint, name.endpoint], errors);
  try {
    const stateOf = async (endpoint: string) => (await app.get(DqHealth).check()).dq.nodes[endpoint];
    const same = `it is the same server as ${one!.endpoint}`;
    await eventually(
      'the server answers to its first name',
      async () => (await stateOf(one!.endpoint)) === 'up',
    );
    name.lead(one!);
    await eventually('the health shows the second', async () => (await stateOf(name.endpoint)) === same);
    for (let turn = 0; turn < 3; turn++) {
      expect(await app.get(DqProducer).delay('twice', turn, '1h')).toMatchObject({ copies: 2 });
    }
    expect(errors).toEqual([
      expect.stringContaining(
        `${name.endpoint} and ${one!.endpoint} are the same server: expected each server once`,
      ),
    ]);
  } finally {
    await app.close();
    await name.stop();
  }
}, 60_000);
