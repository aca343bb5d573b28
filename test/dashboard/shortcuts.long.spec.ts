import { expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { eventually } from 'test-servers';
import { browserSuite } from './browser.js';
import { dashboardApps, GIVES_UP, ORDERS } from './dashboard-app.js';

const browser = browserSuite();
const start = dashboardApps();

/** The text of the element with the focus. */
const focused = (page: Page): Promise<string> =>
  page.evaluate(() => (globalThis as any).document.activeElement.textContent);

async function isOn(page: Page, name: string): Promise<void> {
  await page.getByRole('heading', { level: 1, name }).waitFor();
}

it('g and a letter lead to a page, and ? shows all shortcuts', async () => {
  const app = await start();
  const { page } = await browser.open(app.at('timeline'));
  await isOn(page, 'Timeline');
  for (const [key, name] of [
    ['u', 'Tubes'],
    ['w', 'Waiting jobs'],
    ['d', 'Dead letters'],
    ['s', 'Series'],
    ['c', 'Cluster'],
  ] as const) {
    await page.keyboard.press('g');
    await page.keyboard.press(key);
    await isOn(page, name);
  }
  await page.keyboard.press('?');
  const dialog = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
  await dialog.getByText('Next row').waitFor();
  await page.keyboard.press('g'); // none while a dialog is open
  await page.keyboard.press('t');
  await dialog.getByRole('button', { name: 'Close' }).click();
  await isOn(page, 'Cluster');
});

it('a shortcut works at once after a dialog with a field was closed, which still has the focus until the next frame', async () => {
  const app = await start();
  const { page } = await browser.open(app.at('timeline'));
  await isOn(page, 'Timeline');
  await page.keyboard.press('Control+k');
  await page.getByRole('dialog').getByRole('combobox').fill('order');
  const target = await page.evaluate(() => {
    const { document, KeyboardEvent } = globalThis as any;
    document.querySelector('dialog').close();
    const { activeElement } = document;
    activeElement.dispatchEvent(new KeyboardEvent('keydown', { key: '?', bubbles: true }));
    return activeElement.tagName as string;
  });
  expect(target).toBe('INPUT');
  await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
});

it('j and k go through the rows of a list, Enter opens one, and x selects it', async () => {
  const app = await start();
  for (const key of ['a', 'b', 'c']) await app.addDead('no such mailbox', key);
  const { page } = await browser.open(app.at('dead', { tube: GIVES_UP }));
  await page.getByRole('link', { name: 'a', exact: true }).waitFor();
  for (const key of ['j', 'j', 'j', 'j', 'k']) await page.keyboard.press(key);
  expect(await focused(page)).toBe('b');
  expect(
    await page.evaluate(() => (globalThis as any).document.activeElement.matches(':focus-visible')),
  ).toBe(true);
  await page.keyboard.press('x');
  await page.getByText('1 selected').waitFor();
  expect(await page.getByRole('checkbox', { name: 'Select b' }).isChecked()).toBe(true);
  await page.keyboard.press('Enter');
  await isOn(page, 'b');
});

it('r refreshes a list', async () => {
  const app = await start();
  await app.producer.delay(ORDERS, {}, '30m', { key: 'first' });
  const { page } = await browser.open(app.at('waiting', { tube: ORDERS }));
  await page.getByRole('link', { name: 'first' }).waitFor();
  await app.producer.delay(ORDERS, {}, '31m', { key: 'second' });
  await page.keyboard.press('r');
  await page.getByRole('link', { name: 'second' }).waitFor();
});

it('there are none while one types, and none at all if single keys are switched off', async () => {
  const app = await start();
  const { page } = await browser.open(app.at('dead'));
  const error = page.getByRole('main').getByRole('searchbox');
  await error.pressSequentially('gt?/');
  expect(await error.inputValue()).toBe('gt?/');
  await isOn(page, 'Dead letters');
  await error.blur();
  await page.keyboard.press('?');
  await page.getByRole('checkbox', { name: 'Use single keys' }).uncheck();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.keyboard.press('?');
  await page.keyboard.press('Control+k'); // a key of its own, so it stays
  await page.getByRole('dialog').getByRole('combobox').waitFor();
  expect(await page.getByRole('dialog').count()).toBe(1);
  await page.reload();
  await isOn(page, 'Dead letters');
  const stored = () => page.evaluate(() => (globalThis as any).localStorage.getItem('nest-dq.shortcuts'));
  await eventually('the browser keeps the choice', async () => (await stored()) === 'off');
});
