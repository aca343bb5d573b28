import type { DqInspector } from 'nest-dq';
import { eventually, percentile } from 'test-servers';
import { machineTime } from '../clock.js';
import { row } from '../figures.js';
import { latenessRound } from '../lateness-round.js';
import type { Measure } from '../measure.js';
import { addResidents, RESIDENTS } from '../residents.js';
import { alternate } from '../rounds.js';
import { FAR } from '../schedule-round.js';
import { asOperator, nestDq } from '../systems/nest-dq.js';
import { withSystem } from '../systems/system.js';
import { pause } from '../waiting.js';

/** Milliseconds between two calls. */
const BETWEEN = 100;

export const inspector: Measure = {
  name: 'inspector',
  title: `the calls of DqInspector with other jobs waiting in one tube, in turn, ${BETWEEN} ms apart, while 400 jobs a second of another tube run in the same process; and how late these are, beside no such calls`,
  run: async ({ rounds, pick }) => {
    const residents = pick(1_000_000, 50_000);
    const load = { rate: 400, seconds: pick(20, 5), handler: 0 };
    return withSystem(nestDq, async (system) => {
      const begin = machineTime();
      await addResidents(system.client, residents);
      return asOperator(system.servers, async (asked) => {
        const listed = async () => (await asked.jobs(RESIDENTS, { limit: 1 })).listed;
        await eventually('all jobs are listed', async () => (await listed()) >= residents);
        const calls = await callsOf(asked, begin + FAR, residents);
        const took = new Map(calls.map(({ name }) => [name, [] as number[]]));
        const lateness = async () => percentile((await latenessRound(system, load)).samples, 0.99);
        const { watched, alone } = await alternate(rounds(3), {
          watched: () => whileCalling(calls, took, lateness),
          alone: lateness,
        });
        const times = [...took].flatMap(([name, values]) => [
          row({ what: `${name}: p50`, unit: 'ms', ours: [percentile(values, 0.5)] }),
          row({ what: `${name}: worst of ${values.length}`, unit: 'ms', ours: [percentile(values, 1)] }),
        ]);
        return [
          row({
            what: `${residents.toLocaleString('en-US')} jobs: listed`,
            unit: 'jobs',
            ours: [await listed()],
          }),
          ...times,
          row({
            what: 'lateness of other jobs: p99',
            unit: 'ms',
            ours: watched,
            beside: alone,
            besideName: 'without',
            target: { of: 'ratio', most: 1.5 },
          }),
        ];
      });
    });
  },
};

interface Call {
  readonly name: string;
  readonly call: () => Promise<unknown>;
}

/** `first`: when the first of the jobs is due, which follow by a millisecond each; in ms since 1970. */
async function callsOf(asked: DqInspector, first: number, residents: number): Promise<readonly Call[]> {
  const at = (part: number) => new Date(first + part * residents);
  const fromMiddle = { from: at(0.5) };
  const [job] = (await asked.jobs(RESIDENTS, fromMiddle)).jobs;
  if (!job) throw new Error(`the list of ${residents} jobs has none that is due after half of them`);
  const page = await asked.jobs(RESIDENTS, { limit: 1_000 });
  return [
    { name: 'tubes', call: () => asked.tubes() },
    { name: 'jobs', call: () => asked.jobs(RESIDENTS) },
    {
      name: 'jobs, 1,000 behind a cursor',
      call: () => asked.jobs(RESIDENTS, { limit: 1_000, cursor: page.cursor! }),
    },
    { name: 'jobs, from the middle', call: () => asked.jobs(RESIDENTS, fromMiddle) },
    { name: 'timeline', call: () => asked.timeline(RESIDENTS, { from: at(0), to: at(1), buckets: 200 }) },
    { name: 'explain', call: () => asked.explain({ tube: RESIDENTS, id: job.id }) },
    { name: 'history', call: () => asked.history({ from: new Date(Date.now() - FAR), to: new Date() }) },
  ];
}

/** Resolves with the result of `measure`, until whose end the calls are made in turn. */
async function whileCalling<T>(
  calls: readonly Call[],
  took: ReadonlyMap<string, number[]>,
  measure: () => Promise<T>,
): Promise<T> {
  let isOver = false;
  const calling = async () => {
    for (let i = 0; !isOver; i++) {
      const { name, call } = calls[i % calls.length]!;
      const from = performance.now();
      await call();
      took.get(name)!.push(performance.now() - from);
      await pause(BETWEEN);
    }
  };
  const measured = measure().finally(() => (isOver = true));
  const [result] = await Promise.all([measured, calling()]);
  return result;
}
