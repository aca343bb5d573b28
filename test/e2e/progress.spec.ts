// The progress that handlers report, as other processes see it.
import { expect, it } from '@jest/globals';
import { hostname } from 'node:os';
import type { DelayedJob } from 'nest-dq';
import { eventually } from 'test-servers';
import { startProgram } from '../support/program.js';
import { clusterSuite } from '../support/suite.js';
import { optionsOf } from '../support/system.js';

const LEASE = 3_000;

const suite = clusterSuite();

it('the progress of a run is seen by other processes, until its process is killed: the next attempt starts without', async () => {
  const tube = 'report.build';
  const one = suite.start({ advanced: { lease: LEASE } });
  const options = { ...optionsOf(suite.servers), advanced: { lease: LEASE } };
  const { child, ended } = startProgram(
    'support/consumer-process.mjs',
    JSON.stringify({ tube, options }),
    () => undefined,
  );
  const receipt = await one.producer.now(tube, { progress: [0.4, 'page 12 of 30'] }, { key: 'report-7' });
  const progressNow = async () => (await one.producer.find(receipt))?.progress;
  await eventually('it is found', async () => (await progressNow()) !== undefined);
  const progress = { fraction: 0.4, note: 'page 12 of 30', at: expect.any(Date) };
  expect(await progressNow()).toEqual(progress);
  expect(await one.inspector.explain(receipt)).toMatchObject({ because: 'running', attempt: 1, progress });
  const longRuns = async () => {
    const found = (await one.inspector.processes()).find(({ pid }) => pid === child.pid);
    return found?.tubes[0]?.longRuns ?? [];
  };
  await eventually('it is listed', async () => (await longRuns())[0]?.progress !== undefined);
  expect(await longRuns()).toMatchObject([{ id: receipt.id, key: 'report-7', attempt: 1, progress }]);

  child.kill('SIGKILL');
  await ended;
  const jobs: DelayedJob[] = [];
  let finish!: () => void;
  const mayEnd = new Promise<void>((resolve) => (finish = resolve));
  await one.consumer.consume(
    tube,
    async (_payload, job) => {
      jobs.push(job);
      await mayEnd;
      job.progress(1, '30 pages');
    },
    { keepDone: {} },
  );
  await eventually('it runs again', () => jobs.length === 1);
  expect(await one.producer.find(receipt)).toMatchObject({ state: 'running', attempt: 2 });
  expect(await progressNow()).toBeUndefined();
  jobs[0]!.progress(0.1);
  await eventually('its progress is written', async () => (await progressNow())?.fraction === 0.1);
  expect(await progressNow()).not.toHaveProperty('note');

  finish();
  await eventually('it is done', async () => (await one.producer.find(receipt))?.state === 'done');
  expect(await progressNow()).toBeUndefined();
  const { jobs: finished } = await one.inspector.finished(tube, { key: 'report-7' });
  expect(finished).toMatchObject([
    {
      attempt: 2,
      process: `${hostname()}:${process.pid}`,
      progress: { fraction: 1, note: '30 pages', at: expect.any(Date) },
    },
  ]);
}, 60_000);
