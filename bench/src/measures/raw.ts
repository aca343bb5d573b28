import { drainRound } from '../drain-round.js';
import { row } from '../figures.js';
import type { Measure } from '../measure.js';
import { rate } from '../rate.js';
import { RawClient } from '../raw/raw-client.js';
import { alternate } from '../rounds.js';
import { FAR, scheduleRound } from '../schedule-round.js';
import { Servers } from '../servers.js';
import { nestDq } from '../systems/nest-dq.js';
import { withSystem, type System } from '../systems/system.js';

const NODES = 3;
const WARM_UP = 4_000;

export const raw: Measure = {
  name: 'raw',
  title:
    'beside a bare pipelined client that stores, reserves and deletes the same copies and does nothing else',
  run: async ({ rounds, pick }) => {
    const scheduled = pick(30_000, 5_000);
    const drained = pick(20_000, 4_000);
    const ours =
      (round: (system: System, jobs: number) => Promise<{ jobsPerSecond: number }>, jobs: number) => () =>
        withSystem(nestDq, async (system) => (await round(system, jobs)).jobsPerSecond);
    const adds = await alternate(rounds(3), {
      ours: ours(scheduleRound, scheduled),
      bare: () => bare(async (client) => rate(scheduled, () => client.schedule(scheduled, FAR / 1000))),
    });
    const drains = await alternate(rounds(3), {
      ours: ours(drainRound, drained),
      bare: () =>
        bare(async (client) => {
          await client.schedule(drained, 0);
          return rate(drained, () => client.drain(drained));
        }),
    });
    const compared = (what: string, values: { ours: number[]; bare: number[] }) =>
      row({
        what,
        unit: 'jobs/s',
        ours: values.ours,
        beside: values.bare,
        besideName: 'bare client',
        target: { of: 'ratio', least: 0.7 },
      });
    return [compared('schedule, 3 copies', adds), compared('drain, 3 copies', drains)];
  },
};

async function bare(use: (client: RawClient) => Promise<number>): Promise<number> {
  const servers = await Servers.start(NODES);
  try {
    const client = await RawClient.open(servers.beanstalks);
    try {
      await client.schedule(WARM_UP, 0);
      await client.drain(WARM_UP);
      return await use(client);
    } finally {
      client.close();
    }
  } finally {
    await servers.stop();
  }
}
