// The sample application on real servers, with the jobs of a shop: what waits, runs, failed and is dead.
import 'reflect-metadata';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DelayedHandler, DqProducer, Recurring } from 'nest-dq';
import { DqControl, DqDeadLetters, DqInspector } from 'nest-dq/operate';
import { KqPusher } from 'nest-kq';
import { eventually, startBeanstalkd, startRedis } from 'test-servers';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const MONTH = 30 * 24 * HOUR;
const REFUSED = ['ann', 'bob', 'chen', 'dee', 'eli', 'fay', 'gus'];

export const DEAD_TOPIC = 'mails.shop.kq-dead';

/** Handlers that the sample application lacks: jobs that take long, are retried, are kept once completed, or have a rate limit; and a series. */
class Office {
  ended = new AbortController();

  report() {
    return new Promise((done) => this.ended.signal.addEventListener('abort', done));
  }

  sync({ stock }) {
    throw new Error(`the warehouse answered 503 for ${stock}`);
  }

  backUp() {}

  bill({ order }) {
    return { invoice: `2026-${order}`, mailed: true };
  }

  announce() {}
}
Injectable()(Office);
decorate('report', DelayedHandler('report.monthly'));
decorate('sync', DelayedHandler('stock.sync', { attempts: 6, backoff: () => '20m' }));
decorate('bill', DelayedHandler('invoice.send', { keepDone: { for: '7d' } }));
decorate('announce', DelayedHandler('newsletter.send', { limit: { rate: 20, per: '1m' } }));
decorate('backUp', Recurring('backup.nightly', '0 3 * * *', { tz: 'Europe/Berlin' }));

function decorate(method, decorator) {
  decorator(Office.prototype, method, Object.getOwnPropertyDescriptor(Office.prototype, method));
}

/** The shop, open for pictures. */
export class Shop {
  constructor(app, folder, redis, beanstalkds) {
    Object.assign(this, { app, folder, redis, beanstalkds });
  }

  static async open() {
    const folder = await mkdtemp(join(tmpdir(), 'screenshots-'));
    const [redis, ...beanstalkds] = await Promise.all([
      startRedis(),
      ...Array.from({ length: 3 }, () => startBeanstalkd()),
    ]);
    Object.assign(process.env, {
      DATA_DIR: folder,
      DQ_BEANSTALKS: beanstalkds.map(({ endpoint }) => endpoint).join(),
      DQ_REDIS: redis.url,
      PORT: '0',
      PAY_SECONDS: '900',
      WELCOME_SECONDS: '0.1',
      DAY_SECONDS: '86400',
    });
    // After the environment is set, as the settings are read from it.
    const { AppModule } = await import('../../sample-app/dist/app.module.js');
    class ShopModule {}
    Module({ imports: [AppModule], providers: [Office] })(ShopModule);
    const app = await NestFactory.create(ShopModule, { logger: ['error'], forceCloseConnections: true });
    await app.listen(0, '127.0.0.1');
    return new Shop(app, folder, redis, beanstalkds);
  }

  async close() {
    this.app.get(Office).ended.abort();
    await this.app.close();
    await Promise.all([this.redis, ...this.beanstalkds].map((server) => server.stop()));
    await rm(this.folder, { recursive: true, force: true });
  }

  /** Adds the jobs, and resolves with the id of an order that waits for its payment. */
  async stock() {
    const url = await this.app.getUrl();
    const producer = this.app.get(DqProducer);
    const random = numbers();
    const now = Date.now();
    const add = async (tube, count, within, job) => {
      const jobs = Array.from({ length: count }, (_, number) => ({
        ...job(number),
        at: new Date(now + within * (0.02 + random() ** 2)),
      }));
      await producer.addMany(tube, jobs);
    };
    for (const name of REFUSED) await post(`${url}/users`, { name, email: `${name}@gone.example` });
    await eventually('all of their mails are refused', async () => {
      const { letters } = await this.app.get(DqDeadLetters).list('mail.welcome');
      return letters.length === REFUSED.length;
    });
    await this.app.get(DqControl).pause('mail.welcome', { by: 'ann' });
    await post(`${url}/users`, { name: 'Hal', email: 'hal@example.com' });
    await add('order.unpaid', 420, HOUR, (number) => ({
      payload: { orderId: `order-${number}` },
      key: `order-${number}`,
    }));
    await add('mail.welcome', 260, 8 * HOUR, (number) => ({ payload: { userId: `user-${number}` } }));
    await add('resource.delete', 340, MONTH, (number) => ({ payload: { resourceId: `photo-${number}` } }));
    for (const [offset, name] of REFUSED.entries())
      await this.app
        .get(KqPusher)
        .push(DEAD_TOPIC, { to: `${name}@gone.example` }, { key: name, headers: deathOf(name, offset) });
    const peak = new Date(Math.ceil(now / HOUR) * HOUR + HOUR);
    await producer.addMany(
      'newsletter.send',
      Array.from({ length: 600 }, (_, number) => ({ payload: { reader: number }, at: peak })),
    );
    for (let order = 1; order <= 12; order++)
      await producer.now('invoice.send', { order }, { key: `invoice-${order}` });
    await producer.now('report.monthly', { month: '2026-10' }, { key: 'report-2026-10' });
    await producer.now('stock.sync', { stock: 'tea' }, { key: 'tea' });
    const { id } = await post(`${url}/orders`, { product: 'tea', quantity: 2 });
    const inspector = this.app.get(DqInspector);
    await eventually('one job runs, one waits for a retry, and twelve are done', async () => {
      const { tubes } = await inspector.tubes();
      const { jobs } = await inspector.finished('invoice.send');
      if (jobs.length < 12) return false;
      const of = (name) => tubes.find(({ tube }) => tube === name);
      return of('report.monthly')?.running === 1 && of('stock.sync')?.retrying === 1;
    });
    return id;
  }
}

/** Returns the headers that nest-kq gives to a dead letter. */
function deathOf(name, offset) {
  const message = `550 no such mailbox: ${name}@gone.example`;
  return {
    'kq-topic': 'mails',
    'kq-partition': '0',
    'kq-offset': String(offset),
    'kq-timestamp': String(Date.now() - MINUTE),
    'kq-group': 'shop',
    'kq-attempts': '3',
    'kq-why': 'attempts',
    'kq-error-name': 'Error',
    'kq-error-message': message,
    'kq-error-stack': `Error: ${message}\n    at Mailer.send (mailer.ts:42:11)`,
    'x-tenant': 'eu',
  };
}

async function post(url, body) {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`POST ${url} was answered ${answer.status}: ${await answer.text()}`);
  return answer.json();
}

/** Numbers from 0 to 1, the same each time. */
function numbers() {
  let state = 1;
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
}
