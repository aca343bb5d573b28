// Three viewers who look at a dashboard, in a process of their own. It ends when the process that started it lets it go.
import { setPriority } from 'node:os';
import { launchBrowser } from 'test-servers/browser';
import { pause } from '../waiting.js';
import { ACTS, openHeaviest } from './looks.js';
import type { ViewersArguments, ViewersReport } from './viewers.js';

/** Milliseconds between two acts. */
const BETWEEN = 600;
const LOWEST_PRIORITY = 19;

const { url } = JSON.parse(process.argv[2]!) as ViewersArguments;
// Browsers are on other machines than the application: here they get what its processes leave. Chromium inherits it.
setPriority(LOWEST_PRIORITY);
const browser = await launchBrowser();
const pages = await openHeaviest(browser, url);
for (let acts = 0; process.connected; acts++) {
  const report: ViewersReport = { acts };
  process.send!(report);
  const { on, act } = ACTS[acts % ACTS.length]!;
  await act(pages.get(on)!);
  await pause(BETWEEN);
}
await browser.close();
