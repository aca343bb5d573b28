import { percentile } from 'test-servers';
import { apart } from '../apart.js';
import { withContender, type Contender, type ContenderName } from '../embedded/contenders.js';
import { row } from '../figures.js';
import type { Measure, Row, Settings } from '../measure.js';
import { residentSize } from '../memory.js';
import { rate } from '../rate.js';
import { putJobs, takeJobs } from '../raw/one-node.js';
import { RawConnection } from '../raw/raw-connection.js';
import { alternate } from '../rounds.js';
import type { ProductName } from '../systems/products.js';
import { startServed } from '../systems/served.js';
import { WARM_UP } from '../warm-up.js';
import { latenessOf } from './lateness.js';

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
      ...(await rates(
        'in the process, in memory',
        ['in the process', 'beanstalkd in memory'],
        some,
        settings,
        1,
      )),
      ...(await rates('over TCP, in memory', ['served in memory', 'beanstalkd in memory'], some, settings)),
      ...(await rates('over TCP, on disk', ['served in a folder', 'beanstalkd on disk'], few, settings)),
      ...(await many(settings)),
      ...(await manyOnDisk(settings)),
      ...(await lateness(settings)),
    ];
  },
};

async function rates(
  what: string,
  [own, other]: readonly [ContenderName, ContenderName],
  jobs: number,
  { rounds }: Settings,
  least?: number,
): Promise<Row[]> {
  const values = await alternate(rounds(3), {
    ours: () => nodeRates(own, jobs),
    other: () => nodeRates(other, jobs),
  });
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

/** Jobs a second. */
export const nodeRates = apart(import.meta.url, 'nodeRates', (name: ContenderName, jobs: number) =>
  withContender(name, async ({ connection }) => {
    await warmUp(connection);
    const put = await rate(jobs, () => putJobs(connection, jobs, 0));
    return { put, take: await rate(jobs, () => takeJobs(connection, jobs)) };
  }),
);

/** A beanstalkd that syncs each of these jobs takes some seconds. */
async function warmUp(connection: RawConnection): Promise<void> {
  await putJobs(connection, WARM_UP, 0);
  await takeJobs(connection, WARM_UP);
}

/** A million delayed jobs in a process that has no other jobs. */
async function many({ rounds, pick }: Settings): Promise<Row[]> {
  const jobs = pick(1_000_000, 100_000);
  const values = await alternate(rounds(1), {
    ours: () => fillingOf('served in memory', jobs),
    other: () => fillingOf('beanstalkd in memory', jobs),
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

export const fillingOf = apart(import.meta.url, 'fillingOf', (name: ContenderName, jobs: number) =>
  withContender(name, async (contender) => {
    await warmUp(contender.connection);
    return filling(contender, jobs);
  }),
);

/** The same on disk. Then the process is killed, and the time until a new process serves from its folder is measured. */
async function manyOnDisk({ rounds, pick }: Settings): Promise<Row[]> {
  const jobs = pick(1_000_000, 100_000);
  const { ours } = await alternate(rounds(1), { ours: () => fillAndReopen(jobs) });
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

/** `opened`: in how many seconds; `bytes`: what all of the process then has for each job. */
export const fillAndReopen = apart(import.meta.url, 'fillAndReopen', async (jobs: number) => {
  const server = await startServed('folder');
  try {
    const connection = await RawConnection.open(server.endpoint);
    await warmUp(connection);
    const put = await filling({ connection, memory: () => residentSize(server.pid) }, jobs);
    connection.close();
    await server.kill();
    const from = performance.now();
    await server.restart();
    const opened = (performance.now() - from) / 1000;
    return { put, opened, bytes: (await residentSize(server.pid)) / jobs };
  } finally {
    await server.stop();
  }
});

interface Filling {
  readonly seconds: number;
  /** How much the process grew for each job. */
  readonly bytes: number;
}

async function filling(
  { connection, memory }: Pick<Contender, 'connection' | 'memory'>,
  jobs: number,
): Promise<Filling> {
  const before = await memory();
  const from = performance.now();
  await putJobs(connection, jobs, FAR);
  const seconds = (performance.now() - from) / 1000;
  return { seconds, bytes: ((await memory()) - before) / jobs };
}

/** Applications that need no server. */
const APPLICATIONS: readonly (readonly [where: string, product: ProductName])[] = [
  ['in memory', 'nest-dq, embedded in memory'],
  ['on disk', 'nest-dq, embedded in a folder'],
];

async function lateness({ rounds, pick }: Settings): Promise<Row[]> {
  const rows: Row[] = [];
  const loads = LOADS.map((rate) => ({ rate, seconds: pick(5, 2), handler: 0 }));
  for (const [where, product] of APPLICATIONS) {
    const { ours } = await alternate(rounds(3), { ours: () => latenessOf(product, loads) });
    for (const [index, { rate }] of loads.entries()) {
      const what = `an application, ${where}, ${rate.toLocaleString('en-US')}/s: from the due time`;
      const at = (part: number) => ours.map((lates) => percentile(lates[index]!, part));
      rows.push(
        row({ what: `${what}, p50`, unit: 'ms', ours: at(0.5) }),
        row({ what: `${what}, p99`, unit: 'ms', ours: at(0.99), target: { of: 'ours', most: 5 } }),
      );
    }
  }
  return rows;
}
