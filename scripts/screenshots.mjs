// Takes pictures of the dashboard of the sample application, with the jobs of a shop: those of the documentation, or, if a
// folder is given, each page in light and dark, wide and narrow, to look at before a release.
import 'reflect-metadata';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { NestFactory } from '@nestjs/core';
import { DqProducer } from 'nest-dq';
import { DqControl, DqDeadLetters } from 'nest-dq/operate';
import { eventually } from 'test-servers';
import { launchBrowser } from 'test-servers/browser';
import { KqPusher } from 'nest-kq';

const HOUR = 3_600_000;
const MONTH = 30 * 24 * HOUR;
const REFUSED = ['ann', 'bob', 'chen', 'dee', 'eli', 'fay', 'gus'];

const DEAD_TOPIC = 'mails.shop.kq-dead';

const SIZES = { wide: { width: 1_280, height: 720 }, narrow: { width: 390, height: 844 } };

/** The pictures of the documentation. */
const IN_DOCS = [
  'timeline-light-wide',
  'timeline-dark-wide',
  'job-light-wide',
  'dead-light-wide',
  'kafka-light-wide',
];
const DOCS = fileURLToPath(new URL('../docs/images', import.meta.url));

const data = await mkdtemp(join(tmpdir(), 'screenshots-'));
Object.assign(process.env, {
  DATA_DIR: data,
  PORT: '0',
  PAY_SECONDS: '900',
  WELCOME_SECONDS: '0.1',
  DAY_SECONDS: '86400',
});
// After the environment is set, as the settings are read from it.
const { AppModule } = await import('../sample-app/dist/app.module.js');
const app = await NestFactory.create(AppModule, { logger: ['error'], forceCloseConnections: true });
try {
  await app.listen(0, '127.0.0.1');
  const url = await app.getUrl();
  const order = await openShop(url);
  await takePictures(`${url}/dq`, order, process.argv[2]);
} finally {
  await app.close();
  await rm(data, { recursive: true, force: true });
}

/** Adds what waits in a shop, and resolves with the id of an order that waits for its payment. */
async function openShop(url) {
  const producer = app.get(DqProducer);
  const random = numbers();
  const now = Date.now();
  const add = async (tube, count, within, payload) => {
    const jobs = Array.from({ length: count }, (_, number) => ({
      payload: payload(number),
      at: new Date(now + within * (0.02 + random() ** 2)),
    }));
    await producer.addMany(tube, jobs);
  };
  for (const name of REFUSED) await post(`${url}/users`, { name, email: `${name}@gone.example` });
  await eventually('all of their mails are refused', async () => {
    const { letters } = await app.get(DqDeadLetters).list('mail.welcome');
    return letters.length === REFUSED.length;
  });
  await app.get(DqControl).pause('mail.welcome', { by: 'ann' });
  await post(`${url}/users`, { name: 'Hal', email: 'hal@example.com' });
  await add('order.unpaid', 420, HOUR, (number) => ({ orderId: `order-${number}` }));
  await add('mail.welcome', 260, 8 * HOUR, (number) => ({ userId: `user-${number}` }));
  await add('resource.delete', 340, MONTH, (number) => ({ resourceId: `photo-${number}` }));
  for (const [offset, name] of REFUSED.entries())
    await app
      .get(KqPusher)
      .push(DEAD_TOPIC, { to: `${name}@gone.example` }, { key: name, headers: deathOf(name, offset) });
  const { id } = await post(`${url}/orders`, { product: 'tea', quantity: 2 });
  return id;
}

/** Returns the headers that nest-kq gives to a dead letter. */
function deathOf(name, offset) {
  const message = `550 no such mailbox: ${name}@gone.example`;
  return {
    'kq-topic': 'mails',
    'kq-partition': '0',
    'kq-offset': String(offset),
    'kq-timestamp': String(Date.now() - 60_000),
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

async function takePictures(dashboard, order, folder) {
  const to = folder === undefined ? DOCS : resolve(folder);
  await mkdir(to, { recursive: true });
  const browser = await launchBrowser();
  const pages = pagesOf(order);
  for (const [size, viewport] of Object.entries(SIZES)) {
    for (const colorScheme of ['light', 'dark']) {
      const page = await browser.newPage({ viewport, colorScheme, locale: 'en-US', reducedMotion: 'reduce' });
      for (const [name, { hash, shows }] of Object.entries(pages)) {
        const picture = `${name}-${colorScheme}-${size}`;
        if (folder === undefined && !IN_DOCS.includes(picture)) continue;
        await page.goto(`${dashboard}/#/${hash}`);
        await page.locator('.live[data-state=open]').waitFor();
        await page.getByRole('main').getByText(shows).first().waitFor();
        await page.screenshot({
          animations: 'disabled',
          path: join(to, `${picture}.png`),
          fullPage: folder !== undefined,
        });
        console.log(join(to, `${picture}.png`));
      }
      await page.close();
    }
  }
  await browser.close();
}

/** Returns the part of each page's address behind the #, and a string that it shows once fully loaded. */
function pagesOf(order) {
  return {
    timeline: { hash: 'timeline?span=hour', shows: 'Overdue' },
    month: { hash: 'timeline?span=month', shows: 'Overdue' },
    tubes: { hash: 'tubes', shows: 'resource.delete' },
    tube: { hash: 'tubes/mail.welcome', shows: 'Paused since' },
    waiting: { hash: 'waiting?tube=order.unpaid', shows: 'Attempts' },
    groups: { hash: 'dead', shows: 'there is no mailbox' },
    dead: { hash: 'dead?tube=mail.welcome', shows: 'ann@gone.example' },
    topics: { hash: 'kafka', shows: '7' },
    kafka: { hash: `kafka?topic=${DEAD_TOPIC}`, shows: 'ann@gone.example' },
    job: { hash: `job?tube=order.unpaid&key=${order}`, shows: 'Not due yet' },
    history: { hash: 'history', shows: 'Run lateness' },
    cluster: { hash: 'cluster', shows: 'Connections' },
    acts: { hash: 'acts', shows: 'mail.welcome' },
  };
}
