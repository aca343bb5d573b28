import { apart } from '../apart.js';
import type { CpuTime } from '../cpu.js';
import { CONCURRENCY, drainRound } from '../drain-round.js';
import { row } from '../figures.js';
import type { Measure, Row } from '../measure.js';
import { alternate } from '../rounds.js';
import { scheduleRound } from '../schedule-round.js';
import type { ProductName } from '../systems/products.js';
import { withSystem } from '../systems/system.js';
import { pause } from '../waiting.js';

export const cpu: Measure = {
  name: 'cpu',
  title:
    'CPU time of the client and of all its servers, a job; and what a process with an idle consumer takes of a core',
  run: async ({ rounds, pick }) => {
    const perJob = async (act: Act, jobs: number): Promise<Row[]> => {
      const { ours, peer } = await alternate(rounds(3), {
        ours: () => cpuOf('nest-dq', act, jobs),
        peer: () => cpuOf('BullMQ', act, jobs),
      });
      const micros = (part: keyof CpuTime) => (time: CpuTime) => (1000 * time[part]) / jobs;
      return (['client', 'servers'] as const).map((part) =>
        row({
          what: `${act}, 3 copies, ${part}`,
          unit: 'µs/job',
          ours: ours.map(micros(part)),
          beside: peer.map(micros(part)),
        }),
      );
    };
    const scheduled = await perJob('schedule', pick(30_000, 5_000));
    const drained = await perJob('drain', pick(20_000, 4_000));
    const { ours, peer } = await alternate(rounds(1), {
      ours: () => idleShare('nest-dq', pick(10_000, 3_000)),
      peer: () => idleShare('BullMQ', pick(10_000, 3_000)),
    });
    return [
      ...scheduled,
      ...drained,
      row({
        what: 'idle consumer, of a core',
        unit: '%',
        ours,
        beside: peer,
        target: { of: 'ours', most: 1 },
      }),
    ];
  },
};

type Act = 'schedule' | 'drain';
const ACTS = { schedule: scheduleRound, drain: drainRound };

export const cpuOf = apart(import.meta.url, 'cpuOf', (product: ProductName, act: Act, jobs: number) =>
  withSystem(product, async (system) => (await ACTS[act](system, jobs)).cpu),
);

/** Milliseconds for the work that remains after the start. */
const SETTLED = 2_000;

/** How much of a core a process uses in so many ms while its consumer waits, in percent. */
export const idleShare = apart(import.meta.url, 'idleShare', (product: ProductName, time: number) =>
  withSystem(product, async ({ client, newQueue }) => {
    await client.consume(newQueue(), () => undefined, CONCURRENCY);
    await pause(SETTLED);
    const before = process.cpuUsage();
    const from = performance.now();
    await pause(time);
    const { user, system } = process.cpuUsage(before);
    return (100 * (user + system)) / 1000 / (performance.now() - from);
  }),
);
