// A real Chromium for a spec file, and pages of it that tell what went wrong on them.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { afterAll, afterEach, beforeAll, expect } from '@jest/globals';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { launchBrowser } from 'test-servers/browser';
import { Problems } from './problems.js';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** A page under test. */
export interface Viewer {
  readonly page: Page;
  /** Problems so far. The test fails with those left here at its end. */
  readonly problems: Problems;
}

export interface BrowserSuite {
  /** Opens an address in a browser of its own: no cookie or storage of another test is there. */
  open(url: string, options?: BrowserContextOptions): Promise<Viewer>;
}

/** Call it at the top of a spec file. Each test fails if something went wrong on a page that it opened. */
export function browserSuite(): BrowserSuite {
  let browser: Browser;
  const viewers: Viewer[] = [];
  beforeAll(async () => {
    browser = await launchBrowser();
  }, 120_000);
  afterEach(async () => {
    const opened = viewers.splice(0);
    await Promise.all(opened.map(({ page }) => page.context().close()));
    expect(opened.flatMap(({ problems }) => problems.seen)).toEqual([]);
  });
  afterAll(() => browser.close());
  return {
    open: async (url, options) => {
      const context = await browser.newContext({ locale: 'en-US', timezoneId: 'UTC', ...options });
      context.setDefaultTimeout(20_000);
      const page = await context.newPage();
      const viewer = { page, problems: new Problems(page) };
      viewers.push(viewer);
      await page.goto(url);
      return viewer;
    },
  };
}

/** Opens the dialog with theme, language and zone. */
export async function openSettings(page: Page): Promise<void> {
  await page.getByRole('navigation').locator('button[aria-haspopup]').click();
  await page.getByRole('dialog').getByRole('combobox').first().waitFor();
}

interface Finding {
  readonly rule: string;
  readonly where: string;
  readonly why: string;
}

/** Findings of axe-core on the page as it is now: mistakes that people who use a screen reader, or see less, would meet. */
export async function accessibilityFindings(page: Page): Promise<Finding[]> {
  await page.evaluate(AXE); // by the debugger, so no policy of the page forbids it
  return page.evaluate(async () => {
    const { axe, document } = globalThis as any;
    const { violations } = await axe.run(document, { resultTypes: ['violations'] });
    return violations.flatMap(({ id, nodes }: any) =>
      nodes.map((node: any) => ({
        rule: id,
        where: node.html.slice(0, 200),
        why: [...node.any, ...node.all, ...node.none].map(({ message }: any) => message).join('; '),
      })),
    );
  });
}
