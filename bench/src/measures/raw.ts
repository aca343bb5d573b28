import { apart } from '../apart.js';
import { rowsOfActs } from '../compare-ways.js';
import type { Measure } from '../measure.js';
import { bothRates, type Sizes } from '../product-rates.js';
import { rate } from '../rate.js';
import { RawClient } from '../raw/raw-client.js';
import { alternate } from '../rounds.js';
import { FAR } from '../schedule-round.js';
import { withServers } from '../servers.js';
import { WARM_UP } from '../warm-up.js';

const NODES = 3;

export const raw: Measure = {
  name: 'raw',
  title:
    'beside a bare pipelined client that stores, reserves and deletes the same copies and does nothing else',
  run: async ({ rounds, pick }) => {
    const sizes = { schedule: pick(30_000, 5_000), drain: pick(20_000, 4_000) };
    const rates = await alternate(rounds(3), {
      ours: () => bothRates('nest-dq', sizes),
      beside: () => bareRates(sizes),
    });
    return rowsOfActs(rates, 'bare client', 0.7);
  },
};

/** As `bothRates`, of the bare client. */
export const bareRates = apart(import.meta.url, 'bareRates', (sizes: Sizes) =>
  withServers(NODES, async ({ beanstalks }) => {
    const client = await RawClient.open(beanstalks);
    try {
      await client.schedule(WARM_UP, 0);
      await client.drain(WARM_UP);
      await client.schedule(sizes.drain, 0);
      const drain = await rate(sizes.drain, () => client.drain(sizes.drain));
      const schedule = await rate(sizes.schedule, () => client.schedule(sizes.schedule, FAR / 1000));
      return { schedule, drain };
    } finally {
      client.close();
    }
  }),
);
