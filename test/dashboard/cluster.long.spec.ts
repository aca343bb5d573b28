import { expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { DelayedHandler, Recurring, type DelayedJob } from 'nest-dq';
import type { CopyView } from 'nest-dq/operate';
import { eventually, Proxy } from 'test-servers';
import { clusterSuite } from '../support/suite.js';
import { optionsOf } from '../support/system.js';
import { accessibilityFindings, browserSuite } from './browser.js';
import { dashboardApps, GIVES_UP, ORDERS, type DashboardApp } from './dashboard-app.js';

const suite = clusterSuite();
const browser = browserSuite();
const start = dashboardApps();

/** Console messages of the browser about a server whose ledger is away. */
const REFUSED = /status of 503|answered 503/;
const JOB = `job?tube=${ORDERS}&key=order-42`;

@Injectable()
class Reports {
  readonly written: unknown[] = [];

  @Recurring('report.nightly', '0 3 * * *')
  write(payload: unknown): void {
    this.written.push(payload);
  }
}

@Injectable()
class Slow {
  job: DelayedJob | undefined;
  finish: () => void = () => undefined;

  @DelayedHandler('slow')
  run(_payload: unknown, job: DelayedJob): Promise<void> {
    this.job = job;
    return new Promise((resolve) => {
      this.finish = resolve;
      job.signal.addEventListener('abort', () => resolve());
    });
  }
}

it('says that a page opened while the ledger is away cannot be read, and reads it when the ledger is back', async () => {
  const app = await start({ jobs: optionsOf(suite.servers) });
  await app.producer.delay(ORDERS, {}, '30m', { key: 'order-42' });
  const { page, problems } = await browser.open(app.at('timeline'));
  problems.expect(REFUSED);
  await page.locator('rect.tube').waitFor();
  await suite.servers.redis.kill();
  await page.reload();
  await page.getByRole('alert').filter({ hasText: 'Redis is down' }).waitFor();
  await suite.servers.redis.restart();
  await page.getByRole('alert').filter({ hasText: 'Redis is down' }).waitFor({ state: 'detached' });
  await page.locator('rect.tube').waitFor();
}, 60_000);

it('does not take a silent connection for live, and reconnects', async () => {
  const app = await start();
  const { hostname: host, port } = new URL(app.url);
  const proxy = await Proxy.to({ host, port: Number(port) });
  const { page, problems } = await browser.open('about:blank');
  problems.expect(/failed: GET|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET|ERR_SOCKET_NOT_CONNECTED/); // what was asked of the silent connection
  await page.clock.install();
  await page.goto(app.at('cluster').replace(`${host}:${port}`, proxy.endpoint));
  const status = page.getByRole('status');
  await status.filter({ hasText: 'All well' }).waitFor();
  proxy.swallow();
  await page.clock.fastForward('01:00');
  await status.filter({ hasText: 'Connection to the application lost' }).waitFor();
  proxy.restore();
  await page.clock.fastForward('01:00');
  await status.filter({ hasText: 'All well' }).waitFor();
  await page.context().close();
  await proxy.stop();
}, 60_000);

it('says that a node is away, what is missing on other pages, and that it is back', async () => {
  const app = await start({ jobs: { ...optionsOf(suite.servers), repair: false } });
  await app.producer.delay(ORDERS, {}, '30m', { key: 'order-42' });
  await app.addDead('no such mailbox');
  const { page } = await browser.open(app.at('cluster'));
  const main = page.getByRole('main');
  const [node] = suite.servers.beanstalkds;
  const row = main
    .getByRole('region', { name: 'Nodes' })
    .getByRole('row')
    .filter({ hasText: node!.endpoint });
  await row.getByText('up', { exact: true }).waitFor();
  await node!.kill();

  await row.getByText('down', { exact: true }).waitFor();
  await main.getByRole('region', { name: 'Health' }).getByText(node!.endpoint).waitFor();
  await page.getByRole('link', { name: 'Tubes' }).click();
  await main
    .getByText(/not counted.*/)
    .filter({ hasText: node!.endpoint })
    .waitFor();
  await main.getByRole('link', { name: ORDERS }).first().waitFor();
  await page.goto(app.at(JOB));
  await main.getByRole('row').filter({ hasText: node!.endpoint }).getByText('unreachable').waitFor();
  await page.goto(app.at(`waiting?tube=${ORDERS}`));
  await main.getByRole('row').filter({ hasText: 'waiting' }).first().waitFor();
  await page.goto(app.at(`dead?tube=${GIVES_UP}`));
  await main.getByText('no such mailbox').first().waitFor();
  await page.getByRole('link', { name: 'Timeline' }).click();
  await page.locator('rect.tube').first().waitFor();

  await page.getByRole('link', { name: 'Cluster' }).click();
  await row.getByText('down', { exact: true }).waitFor();
  await node!.restart();
  await row.getByText('up', { exact: true }).waitFor();
  await main.getByText('All nodes and the ledger are up').waitFor();
  await page.getByRole('link', { name: 'Tubes' }).click();
  await main.getByRole('link', { name: ORDERS }).first().waitFor();
  await main.getByText('not counted').waitFor({ state: 'detached' });
}, 60_000);

it('warns that a repair may store copies again on a node that answers and is not drained', async () => {
  const app = await start({ jobs: optionsOf(suite.servers) });
  const endpoint = suite.servers.beanstalkds[0]!.endpoint;
  const { page } = await browser.open(app.at('cluster'));
  const openRepair = () =>
    page
      .getByRole('region', { name: 'Nodes' })
      .getByRole('button', { name: /^Repair/ })
      .click();
  const dialog = page.getByRole('dialog');
  const warning = dialog.getByText('This node is still up');
  await openRepair();
  const node = dialog.getByLabel('Node that will not come back');
  await node.waitFor();
  expect(await warning.count()).toBe(0);
  await node.selectOption(endpoint);
  await warning.waitFor();
  await app.control.drainNode(endpoint);
  await warning.waitFor({ state: 'detached' });
  await app.control.undrainNode(endpoint); // other tests have this node, too
}, 60_000);

it('drains a node, moves its copies by a repair, and lets the node take copies again', async () => {
  const jobs = { ...optionsOf(suite.servers), replicas: 2, repair: false };
  const app = await start({ jobs });
  const endpoint = suite.servers.beanstalkds[0]!.endpoint;
  const keys = Array.from({ length: 20 }, (_, i) => `repaired-${i}`);
  for (const key of keys) await app.producer.delay(ORDERS, {}, '2h', { key });
  const copiesOn = async (node: string) => (await copiesOf(app, keys)).filter((copy) => copy.node === node);
  await eventually('some of their copies are seen there', async () => (await copiesOn(endpoint)).length > 0);

  const { page } = await browser.open(app.at('cluster'));
  const nodes = page.getByRole('main').getByRole('region', { name: 'Nodes' });
  const row = nodes.getByRole('row').filter({ hasText: endpoint });
  await row.getByRole('button', { name: /^Drain/ }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Drain' }).click();
  await row.getByText('drained').waitFor();
  expect((await app.inspector.nodes()).filter(({ drained }) => drained)).toMatchObject([{ endpoint }]);

  await nodes.getByRole('button', { name: /^Repair/ }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Count' }).click();
  const go = dialog.getByRole('button', { name: /^Repair/ });
  await eventually('what it would do is counted', () => go.isEnabled());
  await go.click();
  await dialog.getByRole('button', { name: 'Close' }).click();
  await eventually(
    'no copy is left on the drained node',
    async () => (await copiesOn(endpoint)).length === 0,
  );
  await eventually(
    'each job has two copies',
    async () => (await copiesOf(app, keys)).length === 2 * keys.length,
  );

  await row.getByRole('button', { name: /^Undrain/ }).click();
  await row.getByText('drained').waitFor({ state: 'detached' });
  expect((await app.inspector.nodes()).filter(({ drained }) => drained)).toEqual([]);
}, 60_000);

it('repairs only the jobs of a tube, and shows some of them first', async () => {
  const jobs = { ...optionsOf(suite.servers), prefix: 'scope.', replicas: 2, repair: false };
  const app = await start({ jobs });
  await app.producer.delay(ORDERS, {}, '2h', { key: 'repaired' });
  const keys = ['left-1', 'left-2', 'left-3'];
  for (const key of keys) await app.producer.delay(GIVES_UP, {}, '2h', { key });
  const [copy] = await copiesOf(app, ['repaired']);
  const lost = copy!.node!;
  const { page } = await browser.open(app.at('cluster'));
  await page.getByRole('button', { name: /^Repair/ }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('combobox', { name: 'Tube' }).selectOption(ORDERS);
  await dialog.getByRole('combobox', { name: 'Node that will not come back' }).selectOption(lost);
  await dialog.getByRole('button', { name: 'Count' }).click();
  const examples = dialog.getByRole('region', { name: 'Examples:' });
  await examples.getByText(`${ORDERS}, copies missing: 1`).waitFor();
  expect(await examples.getByRole('listitem').count()).toBe(1);
  await dialog.getByRole('button', { name: 'Repair 1 job' }).click();
  await dialog.getByText('Done. Changed: 1.').waitFor();
  await eventually('the list of acts has it', async () => (await app.inspector.acts()).acts.length > 0);
  const { acts } = await app.inspector.acts();
  expect(acts).toMatchObject([{ act: 'repair', on: { tube: ORDERS, node: lost }, count: 1 }]);
}, 60_000);

it('says which process repairs automatically, and how much is left', async () => {
  const app = await start();
  const processes = app.inspector.processes.bind(app.inspector);
  app.inspector.processes = async () => (await processes()).map((each) => ({ ...each, toRepair: 1_234 }));
  const { page } = await browser.open(app.at('cluster'));
  const shown = page.getByRole('main').getByRole('region', { name: 'Processes' });
  await shown.getByText('repairing copies, about 1,234 left').waitFor();
});

it('triggers a series now', async () => {
  const reports = new Reports();
  const app = await start({ providers: [{ provide: Reports, useValue: reports }] });
  const { page } = await browser.open(app.at('series'));
  const series = page.getByRole('main').getByRole('region', { name: 'Series' });
  await series.getByText('0 3 * * *').waitFor();
  await series.getByRole('button', { name: /^Trigger now/ }).click();
  await eventually('it ran', () => reports.written.length === 1);
});

it('skips the next run of a series, after saying when it will run instead', async () => {
  const reports = new Reports();
  const app = await start({ providers: [{ provide: Reports, useValue: reports }] });
  const dueAt = async () => (await app.inspector.series())[0]!.next!.getTime();
  const before = await dueAt();
  const { page } = await browser.open(app.at('series'));
  const series = page.getByRole('main').getByRole('region', { name: 'Series' });
  await series.getByRole('button', { name: /^Skip next run/ }).click();
  const dialog = page.getByRole('dialog', { name: 'Skip the next run of report.nightly?' });
  await dialog.getByText('It won’t run at').waitFor();
  await dialog.getByRole('button', { name: 'Skip next run' }).click();
  await dialog.waitFor({ state: 'detached' });
  await eventually('a day later', async () => (await dueAt()) === before + 86_400_000);
});

it('shows what has run for longer than a second, where, since when, and how far it is', async () => {
  const app = await start({ providers: [Slow], jobs: { embedded: 'memory', keepDone: {} } });
  const slow = app.get(Slow);
  const { page } = await browser.open(app.at('running'));
  await page.getByText('No run has taken longer than a second.').waitFor();
  const key = 'report-2026-10';
  await app.producer.now('slow', {}, { key });
  const row = page.getByRole('main').getByRole('row').filter({ hasText: key });
  await row.getByText(`:${process.pid}`).waitFor();
  const bar = page.getByRole('main').getByRole('progressbar', { name: 'Progress' });
  expect(await bar.count()).toBe(0);
  slow.job!.progress(0.4, 'page 12 of 30');
  await page.getByText('40% page 12 of 30').waitFor();
  expect(await bar.getAttribute('aria-valuetext')).toBe('40% page 12 of 30');
  const { inspector } = app;
  const present = inspector.processes.bind(inspector);
  inspector.processes = async () =>
    (await present()).map((each) => ({ ...each, toldAt: new Date(each.toldAt.getTime() - 20_000) }));
  await row.getByText(/^silent since/).waitFor();
  inspector.processes = present;
  expect(await accessibilityFindings(page)).toEqual([]);
  await row.getByRole('link', { name: key }).click();
  await page.getByRole('heading', { level: 1, name: key }).waitFor();
  await page.getByText('40% page 12 of 30').waitFor();
  slow.job!.progress(0.5);
  await page.getByText('50%').waitFor();
  expect(await accessibilityFindings(page)).toEqual([]);
  slow.job!.progress(1, '30 pages');
  slow.finish();
  await page.getByText('100% 30 pages').waitFor();
  expect(await bar.getAttribute('value')).toBe('1');
});

/** The copies that are on their nodes. */
async function copiesOf(app: DashboardApp, keys: readonly string[]): Promise<CopyView[]> {
  const explanations = await Promise.all(keys.map((key) => app.inspector.explain({ tube: ORDERS, key })));
  return explanations.flatMap(({ copies }) => copies).filter(({ state }) => state === 'delayed');
}
