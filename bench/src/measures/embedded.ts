import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  beanstalkd,
  inProcess,
  serve,
  served,
  withContender,
  type Contender,
} from '../embedded/contenders.js';
import { percentile } from 'test-servers';
import { row } from '../figures.js';
import { latenessRound } from '../lateness-round.js';
import type { Measure, Row, Settings } from '../measure.js';
import { residentSize } from '../memory.js';
import { rate } from '../rate.js';
import { putJobs, takeJobs } from '../raw/one-node.js';
import { RawConnection } from '../raw/raw-connection.js';
import { alternate } from '../rounds.js';
import { embeddedInFolder, embeddedInMemory } from '../systems/embedded.js';
import { withSystem } from '../systems/system.js';

const WARM_UP = 10_000;
/** Seconds: so far away that none comes due. */
const FAR = 3_600;
const LOADS = [400, 2_000];

export const embedded: Measure = {
  name: 'embedded',
  title:
    'the embedded node beside a beanstalkd, both asked by the same bare client on one connection, 256 puts or 64 reserves in flight; where both keep their jobs on disk, both sync before they answer; and how late jobs run that it keeps',
  run: async (settings) => {
    const { pick } = settings;
    const some = pick(100_000, 10_000);
    const few = pick(20_000, 3_000);
    return [
      ...(await rates('in the process, in memory', inProcess, () => beanstalkd('memory'), some, settings, 1)),
      ...(await rates(
        'over TCP, in memory',
        () => served('memory'),
        () => beanstalkd('memory'),
        some,
        settings,
      )),
      ...(await rates(
        'over TCP, on disk',
        () => served('folder'),
        () => beanstalkd('folder'),
        few,
        settings,
      )),
      ...(await many(settings)),
      ...(await manyOnDisk(settings)),
      ...(await lateness(settings)),
    ];
  },
};

async function rates(
  what: string,
  ours: () => Promise<Contender>,
  other: () => Promise<Contender>,
  jobs: number,
  { rounds }: Settings,
  least?: number,
): Promise<Row[]> {
  const round = (start: () => Promise<Contender>) => () =>
    withContender(start, async ({ connection }) => {
      await warmUp(connection, jobs / 4);
      const put = await rate(jobs, () => putJobs(connection, jobs, 0));
      return { put, take: await rate(jobs, () => takeJobs(connection, jobs)) };
    });
  const values = await alternate(rounds(3), { ours: round(ours), other: round(other) });
  const of = (act: 'put' | 'take', name: string) =>
    row({
      what: `${what}: ${name}`,
      unit: 'jobs/s',
      ours: values.ours.map((value) => value[act]),
      beside: values.other.map((value) => value[act]),
      besideName: 'beanstalkd',
      ...(least !== undefined && { target: { of: 'ratio', least } }),
    });
  return [of('put', 'put'), of('take', 'reserve and delete')];
}

async function warmUp(connection: RawConnection, jobs: number): Promise<void> {
  await putJobs(connection, jobs, 0);
  await takeJobs(connection, jobs);
}

/** A million delayed jobs in a process that has no other jobs. */
async function many({ rounds, pick }: Settings): Promise<Row[]> {
  const jobs = pick(1_000_000, 100_000);
  const round = (start: () => Promise<Contender>) => () =>
    withContender(start, async ({ connection, memory }) => {
      await warmUp(connection, WARM_UP);
      return filling(connection, memory, jobs);
    });
  const values = await alternate(rounds(1), {
    ours: round(() => served('memory')),
    other: round(() => beanstalkd('memory')),
  });
  const what = `${jobs.toLocaleString('en-US')} delayed jobs, in memory`;
  const of = (part: keyof Filling) => ({
    ours: values.ours.map((value) => value[part]),
    beside: values.other.map((value) => value[part]),
    besideName: 'beanstalkd',
  });
  return [
    row({ what: `${what}: to put them`, unit: 's', ...of('seconds') }),
    row({ what: `${what}: memory`, unit: 'bytes/job', ...of('bytes') }),
  ];
}

/** The same on disk. Then the process is killed, and the time until a new process serves from its folder is measured. */
async function manyOnDisk({ rounds, pick }: Settings): Promise<Row[]> {
  const jobs = pick(1_000_000, 100_000);
  const round = async () => {
    const folder = await mkdtemp(join(tmpdir(), 'nest-dq-bench-'));
    try {
      const first = await serve(folder);
      const connection = await RawConnection.open(first.endpoint);
      await warmUp(connection, WARM_UP);
      const put = await filling(connection, () => residentSize(first.pid), jobs);
      connection.close();
      await first.stop('SIGKILL');
      const from = performance.now();
      const second = await serve(folder);
      const opened = (performance.now() - from) / 1000;
      const bytes = (await residentSize(second.pid)) / jobs;
      await second.stop();
      return { put, opened, bytes };
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  };
  const { ours } = await alternate(rounds(1), { ours: round });
  const what = `${jobs.toLocaleString('en-US')} delayed jobs, on disk`;
  return [
    row({ what: `${what}: to put them`, unit: 's', ours: ours.map(({ put }) => put.seconds) }),
    row({ what: `${what}: memory`, unit: 'bytes/job', ours: ours.map(({ put }) => put.bytes) }),
    row({ what: `${what}: a start after a kill -9`, unit: 's', ours: ours.map(({ opened }) => opened) }),
    row({
      what: `${what}: memory then, all of the process`,
      unit: 'bytes/job',
      ours: ours.map(({ bytes }) => bytes),
    }),
  ];
}

interface Filling {
  readonly seconds: number;
  /** How much the process grew for each job. */
  readonly bytes: number;
}

async function filling(
  connection: RawConnection,
  memory: () => Promise<number>,
  jobs: number,
): Promise<Filling> {
  const before = await memory();
  const from = performance.now();
  await putJobs(connection, jobs, FAR);
  const seconds = (performance.now() - from) / 1000;
  return { seconds, bytes: ((await memory()) - before) / jobs };
}

async function lateness({ rounds, pick }: Settings): Promise<Row[]> {
  const rows: Row[] = [];
  const seconds = pick(5, 2);
  for (const [where, product] of [
    ['in memory', embeddedInMemory],
    ['on disk', embeddedInFolder],
  ] as const) {
    for (const rate of LOADS) {
      const { ours } = await alternate(rounds(3), {
        ours: () => withSystem(product, (system) => latenessRound(system, { rate, seconds, handler: 0 })),
      });
      const what = `an application, ${where}, ${rate.toLocaleString('en-US')}/s: from the due time`;
      const at = (part: number) => ours.map(({ samples }) => percentile(samples, part));
      rows.push(
        row({ what: `${what}, p50`, unit: 'ms', ours: at(0.5) }),
        row({ what: `${what}, p99`, unit: 'ms', ours: at(0.99), target: { of: 'ours', most: 5 } }),
      );
    }
  }
  return rows;
}
