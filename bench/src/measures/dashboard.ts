import type { Browser, Page } from 'playwright-core';
import { percentile } from 'test-servers';
import { launchBrowser } from 'test-servers/browser';
import { apart } from '../apart.js';
import { cpuSince, cpuTime } from '../cpu.js';
import { ACTS, BARE, LOOKS, openHeaviest, openPage, type Look } from '../dashboard/looks.js';
import { record, type Recorded } from '../dashboard/recorded.js';
import { withDashboard } from '../dashboard/served.js';
import { listedOf, storeAll, type Stored } from '../dashboard/stored.js';
import { whileWatched } from '../dashboard/viewers.js';
import { row } from '../figures.js';
import { latenessRound, type Load } from '../lateness-round.js';
import type { Measure, Row } from '../measure.js';
import { alternate, joined, once } from '../rounds.js';
import { withSystem, type System } from '../systems/system.js';

/** Milliseconds: what a viewer waits for is there by then. */
const SECOND = { of: 'ours', most: 1_000 } as const;
/** How often each page is opened. */
const OPENS = 3;

export const dashboard: Measure = {
  name: 'dashboard',
  title:
    'the pages of the dashboard in a Chromium, with other jobs waiting in five tubes: from the navigation, or what a viewer does, to its data on screen, beside an answer of a few bytes; and how late 400 jobs a second are, which run in the process of the dashboard, while what three browsers asked is asked again by a process that draws nothing, beside no viewer',
  run: ({ rounds, pick }) =>
    rowsOfDashboard(
      rounds(3),
      { jobs: pick(1_000_000, 50_000), letters: pick(5_000, 500) },
      { rate: 400, seconds: pick(10, 5), handler: 0 },
    ),
};

/** All in one process, as it is about what this process notices of viewers. */
export const rowsOfDashboard = apart(
  import.meta.url,
  'rowsOfDashboard',
  (rounds: number, stored: Stored, load: Load): Promise<Row[]> =>
    withSystem('nest-dq', (system) =>
      withDashboard(system.servers, async (url, inspector) => {
        await storeAll(system, inspector, stored);
        const { rows: onScreen, recorded } = await inBrowser(url, OPENS);
        const round = () => roundOf(system, load);
        const { watched, alone } = await alternate(rounds, {
          watched: () => whileWatched(recorded, round),
          alone: round,
        });
        return [
          row({
            what: `${stored.jobs.toLocaleString('en-US')} jobs: listed`,
            unit: 'jobs',
            ours: await once(() => listedOf(inspector)),
          }),
          ...onScreen,
          row({ what: 'answers to viewers', unit: 'answers', ours: watched.map(({ answers }) => answers) }),
          row({
            what: 'processor time of the application',
            unit: 'µs/job',
            ours: watched.map(({ result }) => result.cpu),
            beside: alone.map(({ cpu }) => cpu),
            besideName: 'no viewer',
          }),
          row({
            what: 'lateness of other jobs: p99',
            unit: 'ms',
            ours: watched.map(({ result }) => result.late),
            beside: alone.map(({ late }) => late),
            besideName: 'no viewer',
            target: { of: 'ratio', most: 1.5 },
          }),
        ];
      }),
    ),
);

/** The 99th percentile of the lateness in ms; and the processor time of this process in µs a job, with that of the adds. */
async function roundOf(system: System, load: Load): Promise<{ late: number; cpu: number }> {
  const before = await cpuTime([]);
  const { samples } = await latenessRound(system, load);
  const { client } = await cpuSince(before, []);
  return { late: percentile(samples, 0.99), cpu: (1_000 * client) / samples.length };
}

/** When each page, and what each act asks for, is on screen, so often; and what the pages ask. */
async function inBrowser(url: string, times: number): Promise<{ rows: Row[]; recorded: Recorded }> {
  const browser = await launchBrowser();
  try {
    const opened = await timesOfOpens(browser, url, times);
    const acted = await timesOfActs(browser, url, times);
    const slowest = joined([...opened, ...acted].map(({ ours }) => ours)).together((all) => Math.max(...all));
    const rows = [
      ...[...opened, ...acted].map((each) => row({ ...each, unit: 'ms', target: SECOND })),
      row({ what: 'the slowest of all these', unit: 'ms', ours: slowest, target: SECOND }),
    ];
    return { rows, recorded: await record(browser, url) };
  } finally {
    await browser.close();
  }
}

async function timesOfOpens(browser: Browser, url: string, times: number) {
  const open = async (look: Look) => {
    const from = performance.now();
    const page = await openPage(browser, url, look);
    const took = performance.now() - from;
    await page.context().close();
    return took;
  };
  const opened = [];
  for (const look of LOOKS) {
    const { [look.name]: ours, [BARE.name]: beside } = await alternate(times, {
      [look.name]: () => open(look),
      [BARE.name]: () => open(BARE),
    });
    opened.push({ what: `open: ${look.name}`, ours: ours!, beside: beside!, besideName: BARE.name });
  }
  return opened;
}

async function timesOfActs(browser: Browser, url: string, times: number) {
  const pages = await openHeaviest(browser, url);
  const { acts } = await alternate(times, { acts: () => timesOfEachAct(pages) });
  const names = [...new Set(ACTS.map(({ name }) => name))];
  return names.map((what) => {
    const ours = acts.flatMap((each) => each.filter(({ name }) => name === what).map(({ ms }) => ms));
    return { what, ours };
  });
}

async function timesOfEachAct(pages: ReadonlyMap<Look, Page>) {
  const took = [];
  for (const { name, on, act } of ACTS) {
    const from = performance.now();
    await act(pages.get(on)!);
    took.push({ name, ms: performance.now() - from });
  }
  return took;
}
