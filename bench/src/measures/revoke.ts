import { apart } from '../apart.js';
import { row } from '../figures.js';
import { inFlight } from '../in-flight.js';
import type { Measure } from '../measure.js';
import { payloads, type Payload } from '../payload.js';
import { rate } from '../rate.js';
import { alternate } from '../rounds.js';
import { FAR } from '../schedule-round.js';
import type { ProductName } from '../systems/products.js';
import { withSystem } from '../systems/system.js';

export const revoke: Measure = {
  name: 'revoke',
  title: 'jobs that wait are cancelled one by one, 256 in flight, against job.remove()',
  run: async ({ rounds, pick }) => {
    const jobs = pick(20_000, 4_000);
    const round = (product: ProductName, keyed: boolean) => () => revokeRate(product, jobs, keyed);
    const { plain, peerPlain, keyed, peerKeyed } = await alternate(rounds(3), {
      plain: round('nest-dq', false),
      peerPlain: round('BullMQ', false),
      keyed: round('nest-dq', true),
      peerKeyed: round('BullMQ', true),
    });
    return [
      row({ what: '3 copies', unit: 'jobs/s', ours: plain, beside: peerPlain }),
      row({ what: '3 copies, keyed', unit: 'jobs/s', ours: keyed, beside: peerKeyed }),
    ];
  },
};

/** Jobs a second, from the first call to the end of the last one. */
export const revokeRate = apart(
  import.meta.url,
  'revokeRate',
  (product: ProductName, jobs: number, keyed: boolean) =>
    withSystem(product, async ({ client, newQueue }) => {
      const queue = newQueue();
      const added: unknown[] = [];
      const add = async (payload: Payload) => {
        added.push(await client.delay(queue, payload, FAR, keyed ? `order-${payload.n}` : undefined));
      };
      await inFlight(payloads(jobs), add);
      return rate(jobs, () => inFlight(added, (each) => client.revoke(each)));
    }),
);
