import type { DqInspector } from 'nest-dq/operate';
import { eventually, percentile } from 'test-servers';
import { apart } from '../apart.js';
import { machineTime } from '../clock.js';
import { row } from '../figures.js';
import { latenessRound } from '../lateness-round.js';
import type { Measure, Row } from '../measure.js';
import { addResidents, RESIDENTS } from '../residents.js';
import { alternate, once } from '../rounds.js';
import { FAR } from '../schedule-round.js';
import { asOperator } from '../systems/nest-dq.js';
import { withSystem } from '../systems/system.js';
import { pause } from '../waiting.js';

/** Milliseconds between two calls. */
const BETWEEN = 100;

export const inspector: Measure = {
  name: 'inspector',
  title: `the calls of DqInspector with other jobs waiting in one tube, in turn, ${BETWEEN} ms apart, while 400 jobs a second of another tube run in the same process; and how late these are, beside no such calls`,
  run: ({ rounds, pick }) => rowsOfInspector(rounds(3), pick(300_000, 50_000), pick(10, 5)),
};

/** All in one process, as it is about what this process notices of the calls. */
export const rowsOfInspector = apart(
  import.meta.url,
  'rowsOfInspector',
  (rounds: number, residents: number, seconds: number): Promise<Row[]> =>
    withSystem('nest-dq', async (system) => {
      const begin = machineTime();
      await addResidents(system.client, residents);
      return asOperator(system.servers, async (asked) => {
        const listed = async () => (await asked.jobs(RESIDENTS, { limit: 1 })).listed;
        await eventually('all jobs are listed', async () => (await listed()) >= residents);
        const calls = await callsOf(asked, begin + FAR, residents);
        const load = { rate: 400, seconds, handler: 0 };
        const lateness = async () => percentile((await latenessRound(system, load)).samples, 0.99);
        const { watched, alone } = await alternate(rounds, {
          watched: () => whileCalling(calls, lateness),
          alone: lateness,
        });
        const times = calls.flatMap(({ name }) => {
          const took = watched.together((all) => all.flatMap((round) => round.took.get(name)!));
          return [
            row({ what: `${name}: p50`, unit: 'ms', ours: took.map((ms) => percentile(ms, 0.5)) }),
            row({ what: `${name}: worst`, unit: 'ms', ours: took.map((ms) => percentile(ms, 1)) }),
          ];
        });
        return [
          row({
            what: `${residents.toLocaleString('en-US')} jobs: listed`,
            unit: 'jobs',
            ours: await once(listed),
          }),
          ...times,
          row({
            what: 'lateness of other jobs: p99',
            unit: 'ms',
            ours: watched.map(({ result }) => result),
            beside: alone,
            besideName: 'without',
            target: { of: 'ratio', most: 1.5 },
          }),
        ];
      });
    }),
);

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

interface WhileCalling<T> {
  readonly result: T;
  /** By the name of each call, how long each of them took, in ms. */
  readonly took: ReadonlyMap<string, number[]>;
}

/** Resolves with the result of `measure`, until whose end the calls are made in turn. */
async function whileCalling<T>(calls: readonly Call[], measure: () => Promise<T>): Promise<WhileCalling<T>> {
  const took = new Map(calls.map(({ name }) => [name, [] as number[]]));
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
  return { result, took };
}
