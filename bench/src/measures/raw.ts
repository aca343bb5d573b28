import { apart } from '../apart.js';
import { row } from '../figures.js';
import type { Measure } from '../measure.js';
import { drainRate, scheduleRate } from '../product-rates.js';
import { rate } from '../rate.js';
import { RawClient } from '../raw/raw-client.js';
import { alternate, type Rounds } from '../rounds.js';
import { FAR } from '../schedule-round.js';
import { withServers } from '../servers.js';
import { WARM_UP } from '../warm-up.js';

const NODES = 3;

export const raw: Measure = {
  name: 'raw',
  title:
    'beside a bare pipelined client that stores, reserves and deletes the same copies and does nothing else',
  run: async ({ rounds, pick }) => {
    const scheduled = pick(30_000, 5_000);
    const drained = pick(20_000, 4_000);
    const adds = await alternate(rounds(3), {
      ours: () => scheduleRate('nest-dq', scheduled),
      bare: () => bareScheduleRate(scheduled),
    });
    const drains = await alternate(rounds(3), {
      ours: () => drainRate('nest-dq', drained),
      bare: () => bareDrainRate(drained),
    });
    const compared = (what: string, values: Record<'ours' | 'bare', Rounds<number>>) =>
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

export const bareScheduleRate = apart(import.meta.url, 'bareScheduleRate', (jobs: number) =>
  bare(async (client) => rate(jobs, () => client.schedule(jobs, FAR / 1000))),
);

export const bareDrainRate = apart(import.meta.url, 'bareDrainRate', (jobs: number) =>
  bare(async (client) => {
    await client.schedule(jobs, 0);
    return rate(jobs, () => client.drain(jobs));
  }),
);

function bare(use: (client: RawClient) => Promise<number>): Promise<number> {
  return withServers(NODES, async ({ beanstalks }) => {
    const client = await RawClient.open(beanstalks);
    try {
      await client.schedule(WARM_UP, 0);
      await client.drain(WARM_UP);
      return await use(client);
    } finally {
      client.close();
    }
  });
}
