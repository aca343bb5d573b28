import { expect, it } from '@jest/globals';
import { Controller, Injectable, Post, type INestApplication } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Redis } from 'ioredis';
import { DelayedHandler, DqModule, DqProducer, type JobReceipt } from 'nest-dq';
import type { LeftDeletions } from 'nest-dq/src/ledger/handover.js';
import { eventually } from 'test-servers';
import { clusterSuite } from '../support/suite.js';
import { optionsOf } from '../support/system.js';

const suite = clusterSuite();

@Injectable()
class Slow {
  readonly begun: unknown[] = [];
  finish!: () => void;
  private readonly finished = new Promise<void>((resolve) => (this.finish = resolve));

  @DelayedHandler('slow', { concurrency: 1 })
  async run(payload: unknown): Promise<void> {
    this.begun.push(payload);
    await this.finished;
  }
}

@Controller()
class Orders {
  constructor(private readonly dq: DqProducer) {}

  @Post()
  place(): Promise<JobReceipt> {
    return this.dq.now('slow', 'by a request');
  }
}

async function start(): Promise<{ app: INestApplication; slow: Slow; dq: DqProducer; url: string }> {
  const dq = DqModule.forRoot({ ...optionsOf(suite.servers), shutdownTimeout: '60s' });
  const module = { module: class App {}, imports: [dq], providers: [Slow], controllers: [Orders] };
  const app = await NestFactory.create(module, { logger: ['error'] });
  await app.listen(0, '127.0.0.1');
  return { app, slow: app.get(Slow), dq: app.get(DqProducer), url: await app.getUrl() };
}

it('requests that come while handlers are drained can still add jobs, which the next process runs', async () => {
  const one = await start();
  await one.dq.now('slow', 'first');
  await eventually('it runs', () => one.slow.begun.length === 1);
  const closed = one.app.close();
  const { status } = await fetch(one.url, { method: 'POST' });
  expect(status).toBe(201);
  one.slow.finish();
  await closed;
  expect(one.slow.begun).toEqual(['first']);
  await expect(one.dq.now('slow', 'too late')).rejects.toMatchObject({ code: 'DQ_CLOSED' });

  const two = await start();
  await eventually('the next process runs it', () => two.slow.begun.length === 1);
  two.slow.finish();
  await two.app.close();
  expect(two.slow.begun).toEqual(['by a request']);
}, 60_000);

it('leaves to the other processes what was deleted in the last minute, which is not certain yet', async () => {
  const one = await start();
  const { id } = await one.dq.now('slow', 'deleted');
  await eventually('it runs', () => one.slow.begun.length === 1);
  one.slow.finish();
  await one.app.close();
  const redis = new Redis(suite.servers.redis.url);
  try {
    const left = await redis.zrange('{:}::left', '0', '-1');
    const found = left.map((text) => JSON.parse(text) as LeftDeletions).find(({ ids }) => ids.includes(id));
    expect(found).toMatchObject({ tube: 'slow', unknown: false });
    expect(found!.copies.map(({ index }) => index)).toEqual([0, 1, 2]);
  } finally {
    redis.disconnect();
  }
}, 60_000);
