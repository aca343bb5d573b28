import type { CpuTime } from '../cpu.js';
import { CONCURRENCY, drainRound } from '../drain-round.js';
import { row } from '../figures.js';
import type { Measure, Row } from '../measure.js';
import { alternate } from '../rounds.js';
import { scheduleRound } from '../schedule-round.js';
import { bullMq } from '../systems/bullmq.js';
import { nestDq } from '../systems/nest-dq.js';
import { withSystem, type Product, type System } from '../systems/system.js';
import { pause } from '../waiting.js';

type Round = (system: System, jobs: number) => Promise<{ readonly cpu: CpuTime }>;

export const cpu: Measure = {
  name: 'cpu',
  title:
    'CPU time of the client and of all its servers, a job; and what a process with an idle consumer takes of a core',
  run: async ({ rounds, pick }) => {
    const perJob = async (name: string, jobs: number, round: Round): Promise<Row[]> => {
      const one = (product: Product) => () =>
        withSystem(product, async (system) => (await round(system, jobs)).cpu);
      const { ours, peer } = await alternate(rounds(3), { ours: one(nestDq), peer: one(bullMq) });
      const micros = (values: readonly CpuTime[], part: keyof CpuTime) =>
        values.map((time) => (1000 * time[part]) / jobs);
      const rowOf = (part: keyof CpuTime) =>
        row({
          what: `${name}, ${part}`,
          unit: 'µs/job',
          ours: micros(ours, part),
          beside: micros(peer, part),
        });
      return [rowOf('client'), rowOf('servers')];
    };
    const idle = (product: Product) => () =>
      withSystem(product, (system) => idleShare(system, pick(10_000, 3_000)));
    const scheduled = await perJob('schedule, 3 copies', pick(30_000, 5_000), scheduleRound);
    const drained = await perJob('drain, 3 copies', pick(20_000, 4_000), drainRound);
    const { ours, peer } = await alternate(rounds(1), { ours: idle(nestDq), peer: idle(bullMq) });
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

/** Milliseconds for the work that remains after the start. */
const SETTLED = 2_000;

/** How much of a core this process uses while its consumer waits, in percent. */
async function idleShare({ client, newQueue }: System, time: number): Promise<number> {
  await client.consume(newQueue(), () => undefined, CONCURRENCY);
  await pause(SETTLED);
  const before = process.cpuUsage();
  const from = performance.now();
  await pause(time);
  const { user, system } = process.cpuUsage(before);
  return (100 * (user + system)) / 1000 / (performance.now() - from);
}
