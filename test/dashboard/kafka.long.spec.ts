// Dead letters of a real Kafka in a real browser.
import { afterAll, beforeAll, beforeEach, expect, it, jest } from '@jest/globals';
import { ConsoleLogger, Injectable, type Provider } from '@nestjs/common';
import type { Page } from 'playwright-core';
import { systemClock } from 'nest-handlers/time';
import { KqDeadLetters, KqModule, KqPusher, TopicHandler } from 'nest-kq';
import { KafkajsDriver } from 'nest-kq/src/driver/kafkajs/kafkajs-driver.js';
import { eventually, startKafka, type KafkaServer } from 'test-servers';
import { browserSuite } from './browser.js';
import { dashboardApps, type DashboardApp, type DashboardAppOptions } from './dashboard-app.js';

const LIMIT = 120_000;
const silent = { debug: () => undefined, warn: () => undefined, error: () => undefined };

const browser = browserSuite();
const start = dashboardApps();

let kafka: KafkaServer;
let driver: KafkajsDriver;
beforeAll(async () => {
  kafka = await startKafka();
  driver = new KafkajsDriver({ brokers: [kafka.endpoint], clock: systemClock, log: silent });
}, LIMIT);
afterAll(async () => {
  await driver.close();
  await kafka.stop();
}, LIMIT);

let topic = '';
let dead = '';
let count = 0;
beforeEach(async () => {
  topic = `orders-${++count}`;
  dead = `${topic}.shop.kq-dead`;
  await driver.admin.createTopics([{ topic, partitions: 1 }]);
});

interface Order {
  readonly id: number;
  readonly because: string;
}

/** A handler that fails until it is mended. */
function failing() {
  const handled: number[] = [];
  const state = { broken: true };
  @Injectable()
  class Handlers {
    @TopicHandler(topic, { group: 'shop', retry: { attempts: 1 } })
    handle({ id, because }: Order): void {
      if (state.broken) throw new Error(because);
      handled.push(id);
    }
  }
  return { Handlers, handled, state };
}

/** An application on Kafka, with a dead letter for each of these. */
async function startWith(
  handlers: Provider,
  because: readonly string[],
  dashboard: DashboardAppOptions['dashboard'] = {},
): Promise<DashboardApp> {
  const logger = new ConsoleLogger('Kq', { logLevels: [] });
  const imports = [KqModule.forRoot({ brokers: [kafka.endpoint], group: topic, logger })];
  const app = await start({ imports, providers: [handlers], dashboard });
  for (const [id, each] of because.entries()) {
    await app
      .get(KqPusher)
      .push(topic, { id, because: each }, { key: `key-${id}`, headers: { shop: 'one' } });
    await eventually('it is dead', async () => (await open(app)).length === id + 1);
  }
  return app;
}

/** Why the letters died that are neither replayed nor discarded. */
async function open(app: DashboardApp): Promise<string[]> {
  const letters = app.get(KqDeadLetters);
  if (!(await letters.topics()).includes(dead)) return [];
  return (await letters.list(dead)).letters.map(({ error }) => error.message);
}

const rows = (page: Page) => page.getByRole('table').getByRole('row');

it(
  'shows a message that no run could handle, with all that is known of it, and replays it',
  async () => {
    const { Handlers, handled, state } = failing();
    const app = await startWith(Handlers, ['no stock']);
    const { page } = await browser.open(app.at('timeline'));
    await page.getByRole('link', { name: 'Kafka dead letters' }).click();
    const row = rows(page).filter({ hasText: dead });
    await row.getByRole('cell').nth(1).getByText(/\b1$/).waitFor();
    await row.getByRole('link', { name: dead }).click();
    await page.getByText(`${topic} 0/0`).waitFor();
    await page.getByText('key-0').waitFor();
    await page.getByRole('button', { name: 'Error: no stock' }).click();
    await page.getByLabel('Stack').getByText('Error: no stock').waitFor();
    await page.getByText('attempts exhausted').waitFor();
    await page.getByRole('button', { name: 'Show payload' }).click();
    const payload = await page.getByRole('group', { name: 'Payload' }).textContent();
    expect(JSON.parse(payload!)).toEqual({
      headers: { shop: 'one' },
      value: { id: 0, because: 'no stock' },
    });
    state.broken = false;
    await page.getByRole('button', { name: 'Replay 0/0' }).click();
    await page.getByText('Message replayed to its topic.').waitFor();
    await eventually('it is handled', () => handled.length === 1);
    await page.getByText('No dead letters match. Try another filter.').waitFor();
    expect(await open(app)).toEqual([]);
    await page.goto(app.at('acts'));
    await page.getByRole('row').filter({ hasText: 'Replay' }).getByText(`${dead} 0/0`).waitFor();
  },
  LIMIT,
);

it(
  'discards a letter, after it asked',
  async () => {
    const app = await startWith(failing().Handlers, ['no stock']);
    const { page } = await browser.open(app.at('kafka', { topic: dead }));
    await page.getByRole('button', { name: 'Discard 0/0' }).click();
    expect(await open(app)).toEqual(['no stock']);
    await page.getByRole('dialog').getByRole('button', { name: 'Discard' }).click();
    await page.getByText('No dead letters match. Try another filter.').waitFor();
    expect(await open(app)).toEqual([]);
  },
  LIMIT,
);

it(
  'replays all that match a filter for the group that failed, and counts them first',
  async () => {
    const { Handlers, handled, state } = failing();
    const app = await startWith(Handlers, ['no stock', 'refused', 'no stock']);
    state.broken = false;
    const { page } = await browser.open(app.at('kafka', { topic: dead }));
    const error = page.getByRole('searchbox', { name: 'Error contains' });
    await error.fill('stock');
    await error.press('Enter');
    await page.getByText('Error: refused').waitFor({ state: 'detached' });
    await page.getByLabel('Replay to').selectOption('failed');
    await page.getByRole('button', { name: 'Replay all matching' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('status').filter({ hasText: '2' }).waitFor();
    await dialog.getByText('key-2').waitFor();
    expect([await open(app), handled]).toEqual([['no stock', 'refused', 'no stock'], []]);
    await dialog.getByRole('button', { name: 'Replay 2 letters' }).click();
    await dialog.getByText('Done. Changed: 2.').waitFor();
    await eventually('both are handled', () => handled.length === 2);
    expect([await open(app), handled]).toEqual([['refused'], [0, 2]]);
    const stored = await driver.admin.read(topic, 0, 3n);
    expect(String(stored!.headers['kq-for'])).toBe('shop');
  },
  LIMIT,
);

it(
  'finds letters by key, topic and time, and discards those that are chosen',
  async () => {
    const app = await startWith(failing().Handlers, ['no stock', 'refused', 'no user']);
    const { page } = await browser.open(app.at('kafka', { topic: dead, key: 'key-1', origin: topic }));
    await page.getByText('Error: refused').waitFor();
    expect(await page.getByText('Error: no user').count()).toBe(0);
    for (const [query, shown] of [
      [{ origin: 'mails' }, 0],
      [{ from: '2020-01-01T00:00:00Z' }, 3],
      [{ to: '2020-01-01T00:00:00Z' }, 0],
    ] as const) {
      await page.goto(app.at('kafka', { topic: dead, ...query }));
      if (shown === 0) await page.getByText('No dead letters match. Try another filter.').waitFor();
      else await rows(page).nth(shown).waitFor();
    }
    await page.goto(app.at('kafka', { topic: dead }));
    for (const id of ['0/0', '0/2']) await page.getByLabel(`Select ${id}`).check();
    await page.getByText('2 selected').waitFor();
    await page.getByRole('button', { name: 'Discard', exact: true }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Discard' }).click();
    await page.getByText('2 of 2 changed').waitFor();
    expect(await open(app)).toEqual(['refused']);
  },
  LIMIT,
);

it(
  'offers a viewer who may only read neither act nor payload, and shows what looks like HTML as text',
  async () => {
    const evil = `<img src=x onerror="document.title='XSS'"><b id="xss">b</b>`;
    const app = await startWith(failing().Handlers, [evil], { access: () => 'read' });
    const { page } = await browser.open(app.at('kafka', { topic: dead }));
    await page.getByRole('button', { name: `Error: ${evil}` }).click();
    await page.getByLabel('Stack').waitFor();
    const main = page.getByRole('main');
    expect(await main.getByRole('button', { name: /replay|discard|payload/i }).count()).toBe(0);
    expect(await main.getByRole('checkbox').count()).toBe(0);
    expect(await page.locator('#xss').count()).toBe(0);
  },
  LIMIT,
);

it(
  'names partitions whose letters are missing, since they have no leader',
  async () => {
    const app = await startWith(failing().Handlers, ['no stock']);
    const letters = app.get(KqDeadLetters);
    const list = letters.list.bind(letters);
    jest
      .spyOn(letters, 'list')
      .mockImplementation(async (...given) => ({ ...(await list(...given)), leaderless: [3] }));
    const { page } = await browser.open(app.at('kafka'));
    const row = rows(page).filter({ hasText: dead });
    await row.getByText('excluding partition 3: no leader').waitFor();
    await row.getByRole('link', { name: dead }).click();
    await page.getByText('Error: no stock').waitFor();
    await page.getByText(`Partitions left out, no leader: ${dead}/3`).waitFor();
  },
  LIMIT,
);

it(
  'reports what is wrong with a missing topic, and lists the others',
  async () => {
    const app = await startWith(failing().Handlers, ['no stock']);
    const { page, problems } = await browser.open(app.at('kafka'));
    problems.expect(/status of 404|answered 404/);
    await page.getByRole('searchbox', { name: 'Another topic' }).fill('none');
    await page.getByRole('button', { name: 'Show' }).click();
    await page.getByRole('alert').getByText('KQ_UNKNOWN_TOPIC').waitFor();
    await page.getByRole('combobox', { name: 'Topic' }).selectOption(dead);
    await page.getByText('Error: no stock').waitFor();
  },
  LIMIT,
);

it('has no such page where the application does not have nest-kq', async () => {
  const app = await start();
  const { page } = await browser.open(app.at('kafka'));
  await page.getByText('Page not found.').waitFor();
  await page.getByRole('link', { name: 'Dead letters' }).waitFor();
  expect(await page.getByRole('link', { name: /Kafka/ }).count()).toBe(0);
});
