import { expect, it, jest } from '@jest/globals';
import { Again } from 'nest-dq/src/api/outcome.js';
import { LogReport } from 'nest-dq/src/nest/log-report.js';
import { eventually } from 'test-servers';
import { isEmpty, schedule, startOf, type Start } from '../support/jobs.js';
import { clusterSuite } from '../support/suite.js';
import type { System } from '../support/system.js';

const SERIES = 20;
/** Milliseconds from the end of a run to the next. */
const STEP = 1_500;

const suite = clusterSuite();

const failures = ({ log }: System) => log.filter((line) => /failed in attempt|is a dead letter/.test(line));

/** The runs of each series. */
function bySeries(starts: readonly Start[]): Start[][] {
  const ids = new Set(starts.map(({ id }) => id));
  return Array.from(ids, (id) => starts.filter((start) => start.id === id));
}

it('runs each link of a series once when all nodes stood still as its copies were to be stored', async () => {
  const system = suite.start();
  await eventually('all nodes are up', () => system.nodes.every(({ up }) => up));
  const tube = 'frozen';
  const starts: Start[] = [];
  const ended = new Map<string, number>();
  let goOn: () => void = () => undefined;
  const frozen = new Promise<void>((resolve) => (goOn = resolve));
  await system.consumer.consume(
    tube,
    async (_, job) => {
      starts.push(startOf(job));
      if (ended.has(job.id)) return undefined;
      await frozen;
      ended.set(job.id, Date.now());
      return Again.after(STEP);
    },
    { concurrency: SERIES },
  );
  await schedule(system, tube, SERIES, () => Date.now());
  await eventually('all run', () => starts.length === SERIES);

  const notStored = jest.spyOn(LogReport.prototype, 'notStored');
  for (const beanstalkd of suite.servers.beanstalkds) beanstalkd.freeze();
  try {
    goOn();
    await eventually('none can be stored', () => notStored.mock.calls.length === SERIES);
  } finally {
    for (const beanstalkd of suite.servers.beanstalkds) beanstalkd.thaw();
  }

  await eventually('all series are over', () => starts.length >= 2 * SERIES);
  await eventually('no copy is left', () => isEmpty(system, tube));
  for (const [first, second, ...more] of bySeries(starts)) {
    expect([first!.attempt, second!.attempt, more]).toEqual([1, 1, []]);
    expect(second!.at - ended.get(first!.id)!).toBeGreaterThan(STEP / 2); // by another clock than the due time
    expect(second!.lateness).toBeGreaterThanOrEqual(0);
  }
  expect(failures(system)).toEqual([]);
}, 60_000);

it('continues with two of three nodes down, each link once, and is stored on all of them when they are back', async () => {
  const system = suite.start({ advanced: { backupDelay: 1_000 } });
  await eventually('all nodes are up', () => system.nodes.every(({ up }) => up));
  const tube = 'down';
  const starts: Start[] = [];
  let last = Infinity;
  await system.consumer.consume(
    tube,
    (_, job) => {
      starts.push(startOf(job));
      const links = starts.filter(({ id }) => id === job.id).length;
      return links < last ? Again.after(200) : undefined;
    },
    { concurrency: SERIES, attempts: 2 },
  );
  await schedule(system, tube, SERIES, () => Date.now());
  await eventually('all run', () => starts.length >= SERIES);

  const [, ...lost] = suite.servers.beanstalkds;
  await Promise.all(lost.map((beanstalkd) => beanstalkd.kill()));
  const before = starts.length;
  const longest = () => Math.max(...bySeries(starts).map((runs) => runs.length));
  const shortest = () => Math.min(...bySeries(starts).map((runs) => runs.length));
  await eventually('they continue', () => starts.length > before && shortest() >= 4);
  await Promise.all(lost.map((beanstalkd) => beanstalkd.restart()));
  await eventually('all nodes are up again', () => system.nodes.every(({ up }) => up));
  last = longest() + 2;
  await eventually('all have ended', () => starts.length >= last * SERIES);
  await eventually('no copy is left', () => isEmpty(system, tube));
  expect(bySeries(starts).map((runs) => runs.length)).toEqual(Array(SERIES).fill(last));
  expect(starts.filter(({ attempt, lateness }) => attempt !== 1 || lateness < 0)).toEqual([]);
  expect(failures(system)).toEqual([]);
}, 120_000);
