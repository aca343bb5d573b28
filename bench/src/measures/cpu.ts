import { apart } from '../apart.js';
import type { CpuTime } from '../cpu.js';
import { CONCURRENCY } from '../drain-round.js';
import { row } from '../figures.js';
import type { Measure } from '../measure.js';
import { bothRounds, type Sizes } from '../product-rates.js';
import { alternate } from '../rounds.js';
import type { ProductName } from '../systems/products.js';
import { withSystem } from '../systems/system.js';
import { pause } from '../waiting.js';

export const cpu: Measure = {
  name: 'cpu',
  title:
    'CPU time of the client and of all its servers, a job; and what a process with an idle consumer takes of a core',
  run: async ({ rounds, pick }) => {
    const sizes = { schedule: pick(30_000, 5_000), drain: pick(20_000, 4_000) };
    const used = await alternate(rounds(3), {
      ours: () => cpuOf('nest-dq', sizes),
      peer: () => cpuOf('BullMQ', sizes),
    });
    const perJob = (act: keyof Sizes, part: keyof CpuTime) => {
      const micros = (times: Record<keyof Sizes, CpuTime>) => (1000 * times[act][part]) / sizes[act];
      return row({
        what: `${act}, 3 copies, ${part}`,
        unit: 'µs/job',
        ours: used.ours.map(micros),
        beside: used.peer.map(micros),
      });
    };
    const { ours, peer } = await alternate(rounds(1), {
      ours: () => idleShare('nest-dq', pick(6_000, 3_000)),
      peer: () => idleShare('BullMQ', pick(6_000, 3_000)),
    });
    return [
      perJob('schedule', 'client'),
      perJob('schedule', 'servers'),
      perJob('drain', 'client'),
      perJob('drain', 'servers'),
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

export const cpuOf = apart(import.meta.url, 'cpuOf', (product: ProductName, sizes: Sizes) =>
  withSystem(product, async (system) => {
    const { schedule, drain } = await bothRounds(system, sizes);
    return { schedule: schedule.cpu, drain: drain.cpu };
  }),
);

/** Milliseconds for the work that remains after the start. */
const SETTLED = 2_000;

/** Returns the CPU use of a process over `time` ms while its consumer waits, in percent of a core. */
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
