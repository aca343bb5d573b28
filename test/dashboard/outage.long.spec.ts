// The tour of an outage: what two pages say while nodes, Redis and the application go away and come back.
import { expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { eventually, Proxy } from 'test-servers';
import { clusterSuite } from '../support/suite.js';
import { optionsOf } from '../support/system.js';
import { accessibilityFindings, browserSuite, type Viewer } from './browser.js';
import { dashboardApps, GIVES_UP, ORDERS, type DashboardApp } from './dashboard-app.js';

const suite = clusterSuite();
const browser = browserSuite();
const start = dashboardApps();

/** Messages of the browser about requests that nobody, or only an application without Redis, answers. */
const AWAY = /status of 503|answered 503|failed: GET|ERR_/;
/** Parts of the icon's address: its colour. */
const ICONS = { well: '%2317713a', warning: '%23b26a00', failure: '%23c5221f' } as const;

/** The start page and the list of waiting jobs, each in its own browser. */
class Pages {
  private constructor(
    readonly first: Page,
    readonly waiting: Page,
  ) {}

  static async open(app: DashboardApp, origin: string): Promise<Pages> {
    const at = (path: string, query?: Record<string, string>) =>
      app.at(path, query).replace(new URL(app.url).origin, origin);
    const [first, waiting] = await Promise.all(
      [at('timeline'), at('waiting', { tube: ORDERS })].map((address) => browser.open(address)),
    );
    for (const { problems } of [first!, waiting!] satisfies Viewer[]) problems.expect(AWAY);
    return new Pages(first!.page, waiting!.page);
  }

  /** Both have a bar with all of these texts, and their tabs show its first one. */
  async areAlarmed(level: 'warning' | 'failure', what: string, ...texts: readonly (string | RegExp)[]) {
    for (const [page, name] of this.named()) {
      const bar = page.getByRole('region', { name: 'Status' });
      await bar.getByText(what, { exact: true }).first().waitFor();
      for (const text of texts) await bar.getByText(text).first().waitFor();
      expect(await bar.getAttribute('data-level')).toBe(level);
      const mark = level === 'failure' ? '✖' : '⚠';
      await this.hasTab(page, `${mark} ${what} · ${name} · nest-dq`, level);
    }
  }

  async areCalm() {
    for (const [page, name] of this.named()) {
      await page.getByRole('status').filter({ hasText: 'No alarms' }).waitFor({ timeout: 40_000 });
      await page.getByRole('region', { name: 'Status' }).waitFor({ state: 'detached' });
      await this.hasTab(page, `${name} · nest-dq`, 'well');
    }
  }

  /** The facts they knew stay. */
  async keepTheirFacts() {
    await this.first.getByRole('heading', { name: /^Jobs due in this period: [1-9]/ }).waitFor();
    await this.first.getByRole('navigation').getByRole('link', { name: 'Dead letters 1' }).waitFor();
    await this.waiting.getByRole('link', { name: 'order-42' }).waitFor();
  }

  private named() {
    return [
      [this.first, 'Timeline'],
      [this.waiting, 'Waiting jobs'],
    ] as const;
  }

  private async hasTab(page: Page, title: string, icon: keyof typeof ICONS) {
    await eventually(`the title is ${title}`, async () => (await page.title()) === title);
    expect(await page.locator('link[rel="icon"]').getAttribute('href')).toContain(ICONS[icon]);
  }
}

async function isBlocked(page: Page, name: RegExp, why: string) {
  const button = page.getByRole('main').getByRole('button', { name }).first();
  await eventually(
    `${name} is disabled`,
    async () => (await button.getAttribute('aria-disabled')) === 'true',
  );
  expect(await button.getAttribute('title')).toBe(why);
}

/** Types the beginning of a key and then the name of a page, and is on the timeline again. */
async function jobsAreNotSearched(page: Page, why: string): Promise<void> {
  await page.keyboard.press('Control+k');
  const palette = page.getByRole('dialog');
  const field = palette.getByRole('combobox');
  await field.fill('order-4');
  await palette.getByRole('status').getByText(why, { exact: true }).waitFor();
  expect(await palette.getByText('Loading…').count()).toBe(0);
  for (const name of ['Tubes', 'Timeline']) {
    await field.fill(name);
    await palette.getByRole('option', { name, selected: true }).click();
    await page.getByRole('heading', { level: 1, name }).waitFor();
    if (name === 'Tubes') await page.keyboard.press('Control+k');
  }
}

it('two pages say what is wrong at each step of an outage, keep what they knew, and are calm again', async () => {
  const { beanstalkds, redis } = suite.servers;
  const [one, two] = beanstalkds;
  const jobs = { ...optionsOf(suite.servers), repair: false };
  const app = await start({ jobs });
  await app.producer.delay(ORDERS, {}, '30m', { key: 'order-42' });
  await app.addDead('no such mailbox');
  await app.control.pause(GIVES_UP, { by: 'ann' });
  await app.producer.now(GIVES_UP, { because: 'late' });
  const { hostname: host, port } = new URL(app.url);
  const proxy = await Proxy.to({ host, port: Number(port) });
  const pages = await Pages.open(app, `http://${proxy.endpoint}`);
  const { first, waiting } = pages;

  // All is well, and a pause is no alarm: the start page says who paused what.
  await pages.areCalm();
  await pages.keepTheirFacts();
  const paused = first
    .getByRole('region', { name: 'Problems' })
    .getByRole('row')
    .filter({ hasText: GIVES_UP });
  await paused.getByText('Paused').waitFor();
  await paused.getByText(/since .* by ann/).waitFor();
  await paused.getByRole('button', { name: /^Resume/ }).waitFor();

  // Pages that are visited before the outage.
  const { page: third, problems } = await browser.open(app.at('job', { tube: ORDERS, key: 'order-42' }));
  problems.expect(AWAY);
  const lists = { 'Dead letters': 'no such mailbox', 'Operator actions': 'ann', History: 'Table view' };
  const goTo = (name: string) => third.getByRole('navigation').getByRole('link', { name }).click();
  for (const [name, fact] of Object.entries(lists)) {
    await goTo(name);
    await third.getByRole('main').getByText(fact).first().waitFor();
  }
  await third.goto(app.at('job', { tube: ORDERS, key: 'order-42' }));
  await third.getByRole('heading', { name: 'Not due yet' }).waitFor();

  // A node is killed.
  await one!.kill();
  await pages.areAlarmed(
    'warning',
    `Node ${one!.endpoint} is down`,
    /since \d\d:\d\d:\d\d/,
    'Jobs are safe, with fewer copies: 2 of 3 nodes are up.',
    'Check that beanstalkd runs there and is reachable.',
  );

  // Another one is frozen.
  two!.freeze();
  await pages.areAlarmed(
    'failure',
    'Only 1 of 3 nodes are up',
    /since \d\d:\d\d:\d\d/,
    'Adding jobs fails: 2 nodes are needed.',
    new RegExp(`Bring back .*${two!.endpoint}`),
  );
  await pages.keepTheirFacts();

  // Redis is stopped: the one cause first, the other behind it.
  await redis.kill();
  await pages.areAlarmed(
    'failure',
    'Redis is down',
    /since \d\d:\d\d:\d\d/,
    `${redis.host}:${redis.port}: connection refused`,
    'No job runs. Nothing is lost.',
    'Check that Redis runs and is reachable.',
  );
  await pages.keepTheirFacts();
  const bar = first.getByRole('region', { name: 'Status' });
  const runbook = bar.getByRole('link', { name: 'Runbook' }).first();
  expect(await runbook.getAttribute('href')).toMatch(/docs\/runbook\.md#dqledgerdown$/);
  const more = bar.getByRole('button', { name: '1 more' });
  expect(await bar.getByText('Only 1 of 3 nodes are up').isVisible()).toBe(false);
  await more.click();
  await bar.getByText('Only 1 of 3 nodes are up').waitFor();
  expect(await accessibilityFindings(first)).toEqual([]);

  // The list stays, with its age, and its acts say why they can't work.
  await waiting.getByRole('button', { name: 'Refresh' }).click();
  await waiting.getByText(/^As of \d\d:\d\d:\d\d\. Redis is down;/).waitFor();
  await isBlocked(waiting, /^Run now/, 'Not possible while Redis is down');
  expect(await accessibilityFindings(waiting)).toEqual([]);
  await pages.keepTheirFacts();

  // A job keeps its facts, and every list and figure of the ledger has its age.
  const asOf = /^As of \d\d:\d\d:\d\d\. Redis is down;/;
  await third.getByText(asOf).waitFor();
  await third.getByRole('heading', { name: 'Not due yet' }).waitFor();
  expect(await third.getByRole('region', { name: 'Copies' }).getByRole('row').count()).toBe(4);
  for (const [name, fact] of Object.entries(lists)) {
    await goTo(name);
    await third.getByText(asOf).first().waitFor();
    await third.getByRole('main').getByText(fact).first().waitFor();
  }
  await goTo('Running now');
  await third
    .getByRole('main')
    .getByText(/^as of /)
    .waitFor();
  await third.goto(app.at(`tubes/${GIVES_UP}`));
  for (const name of ['Job counts', 'Consumption', 'Processes'])
    await third
      .getByRole('region', { name })
      .getByText(/^as of /)
      .waitFor();
  expect(await accessibilityFindings(third)).toEqual([]);
  const problem = first.getByRole('region', { name: 'Problems' });
  await problem.getByText(/^as of /).waitFor();
  await problem
    .getByRole('row')
    .filter({ hasText: GIVES_UP })
    .getByText(/since .* by ann/)
    .waitFor();

  // A page that is opened now says what it can't know, without codes.
  await third.goto(app.at('job', { tube: ORDERS, key: 'order-42' }));
  await third.reload();
  await third.getByText('Copies can’t be looked up without Redis.').waitFor();
  await third.getByText(/^Redis doesn’t answer, so no job runs/).waitFor();
  expect(await third.getByText(/DQ_|No known copies/).count()).toBe(0);

  // A paused tube stays paused.
  await first.getByRole('navigation').getByRole('link', { name: 'Tubes' }).click();
  const tube = first.getByRole('table', { name: 'Tubes' }).getByRole('row').filter({ hasText: GIVES_UP });
  await tube.getByText('paused', { exact: true }).waitFor();
  await first.getByText(/^Dead letters, pauses, limits and consumers as of/).waitFor();
  await isBlocked(first, /^Resume/, 'Not possible while Redis is down');
  expect(await first.getByRole('button', { name: `Pause ${GIVES_UP}` }).count()).toBe(0);
  expect(await accessibilityFindings(first)).toEqual([]);
  await first.getByRole('navigation').getByRole('link', { name: 'Cluster' }).click();
  await first.getByRole('region', { name: 'Health' }).getByText('Redis is down', { exact: true }).waitFor();
  await first.getByRole('region', { name: 'Ledger' }).getByText('connection refused').first().waitFor();
  expect(await first.getByText(/enableOfflineQueue|writeable/).count()).toBe(0);
  expect(await accessibilityFindings(first)).toEqual([]);
  await first.getByRole('navigation').getByRole('link', { name: 'Timeline' }).click();
  await first.getByText(/^As of \d\d:\d\d:\d\d\. Redis is down;/).waitFor();
  await pages.keepTheirFacts();

  // Whoever opens the page only now sees what the application has known.
  const fresh = await browser.open(`http://${proxy.endpoint}/dq/#/tubes`);
  fresh.problems.expect(AWAY);
  await fresh.page.getByText(/^Dead letters, pauses, limits and consumers as of/).waitFor();
  const freshRow = fresh.page.getByRole('table', { name: 'Tubes' }).getByRole('row');
  await freshRow.filter({ hasText: GIVES_UP }).getByText('paused', { exact: true }).waitFor();
  await fresh.page.context().close();

  // The palette says why it finds no jobs, and still leads to pages.
  await jobsAreNotSearched(first, 'No job search: Redis is down.');

  // Redis is back, then the nodes.
  await redis.restart();
  await pages.areAlarmed('failure', 'Only 1 of 3 nodes are up');
  await waiting.getByText(/^As of /).waitFor({ state: 'detached' });
  await third.getByRole('heading', { name: 'Not due yet' }).waitFor();
  await third.context().close();
  two!.thaw();
  await pages.areAlarmed('warning', `Node ${one!.endpoint} is down`);
  await one!.restart();
  await pages.areCalm();
  await pages.keepTheirFacts();

  // Redis is frozen: it accepts connections and says nothing.
  redis.freeze();
  await pages.areAlarmed('failure', 'Redis is down', /no answer/, 'No job runs. Nothing is lost.');
  redis.thaw();
  await pages.areCalm();

  // The application is frozen: its connections stay open.
  proxy.swallow();
  await pages.areAlarmed('failure', 'Connection to the application lost');
  proxy.restore();
  await pages.areCalm();

  // The application is restarted.
  await app.close();
  await pages.areAlarmed(
    'failure',
    'Connection to the application lost',
    /The page shows what it last knew, as of \d\d:\d\d:\d\d\./,
  );
  await pages.keepTheirFacts();
  await isBlocked(waiting, /^Run now/, 'Not possible without a connection to the application');
  expect(await accessibilityFindings(waiting)).toEqual([]);
  await waiting.getByRole('button', { name: 'Refresh' }).click();
  await waiting.getByText(/^As of \d\d:\d\d:\d\d\. No connection to the application/).waitFor();
  await jobsAreNotSearched(first, 'No job search: no connection to the application.');
  const next = await start({ jobs });
  proxy.lead({ host, port: Number(new URL(next.url).port) });
  await pages.areCalm();
  await waiting.getByText(/^As of /).waitFor({ state: 'detached' });
  await pages.keepTheirFacts();
  await Promise.all([first.context().close(), waiting.context().close()]);
  await proxy.stop();
}, 240_000);

it('a tube without a consumer is a problem before its jobs are due, also on an embedded node', async () => {
  const app = await start();
  await app.producer.addMany(
    'mail.later',
    Array.from({ length: 200 }, (_, n) => ({ payload: n, delay: '1h' })),
  );
  const { page } = await browser.open(app.at('timeline'));
  const row = page
    .getByRole('region', { name: 'Problems' })
    .getByRole('row')
    .filter({ hasText: 'mail.later' });
  await row.getByText('No consumer').waitFor();
  await row.getByRole('link', { name: '200', exact: true }).waitFor();
  const bar = page.getByRole('region', { name: 'Status' });
  await bar.getByText('No consumer: mail.later').waitFor();
  await bar.getByText('Jobs: 200, of which due: 0.').waitFor();
  const chinese = await browser.open(app.at('timeline'), { locale: 'zh-CN' });
  await chinese.page.getByText('无人消费: mail.later').waitFor();
  await row.getByRole('link', { name: /^Processes/ }).click();
  const health = page.getByRole('region', { name: 'Health' });
  await health.getByText('up, degraded').waitFor();
  await health.getByText('No consumer: mail.later').waitFor();
});

it('says that a tube is resumed where it is a problem', async () => {
  const app = await start();
  await app.control.pause(ORDERS, { by: 'ann' });
  await app.producer.now(ORDERS, { order: 42 });
  const { page } = await browser.open(app.at('timeline'));
  const problems = page.getByRole('region', { name: 'Problems' });
  await problems
    .getByRole('row')
    .filter({ hasText: ORDERS })
    .getByRole('button', { name: /^Resume/ })
    .click();
  await page.getByText('Tube resumed.').waitFor();
  await problems.waitFor({ state: 'detached' });
  await eventually('what waited ran', () => app.ran.length === 1);
});
