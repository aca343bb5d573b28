import { apart } from '../apart.js';
import { row } from '../figures.js';
import type { Measure } from '../measure.js';
import { payloads } from '../payload.js';
import { rate } from '../rate.js';
import { alternate } from '../rounds.js';
import { FAR } from '../schedule-round.js';
import type { ProductName } from '../systems/products.js';
import { withSystem } from '../systems/system.js';
import { WARM_UP } from '../warm-up.js';

/** Jobs in one call. */
const IN_CALL = 1_000;

export const bulk: Measure = {
  name: 'bulk',
  title: `adds in calls of ${IN_CALL.toLocaleString('en-US')} jobs, one call after the other, against addBulk; with keys, and jobId there`,
  run: async ({ rounds, pick }) => {
    const jobs = pick(30_000, 6_000);
    const plain = (product: ProductName) => () => bulkRate(product, jobs, false);
    const keyed = (product: ProductName) => () => bulkRate(product, jobs, true);
    const values = await alternate(rounds(3), {
      plain: plain('nest-dq'),
      keyed: keyed('nest-dq'),
      peerPlain: plain('BullMQ'),
      peerKeyed: keyed('BullMQ'),
    });
    return [
      row({
        what: '3 copies',
        unit: 'jobs/s',
        ours: values.plain,
        beside: values.peerPlain,
        target: { of: 'ratio', least: 1.5 },
      }),
      row({
        what: '3 copies, keyed',
        unit: 'jobs/s',
        ours: values.keyed,
        beside: values.peerKeyed,
        target: { of: 'ratio', least: 1 },
      }),
    ];
  },
};

/** Jobs a second, from the first call to the end of the last one. */
export const bulkRate = apart(
  import.meta.url,
  'bulkRate',
  (product: ProductName, jobs: number, keyed: boolean) =>
    withSystem(product, async ({ client, newQueue }) => {
      const rateOf = (count: number) => {
        const all = payloads(count).map((payload) => ({
          payload,
          delay: FAR,
          ...(keyed && { key: `order-${payload.n}` }),
        }));
        const queue = newQueue();
        return rate(count, async () => {
          for (let begin = 0; begin < count; begin += IN_CALL) {
            await client.delayMany(queue, all.slice(begin, begin + IN_CALL));
          }
        });
      };
      await rateOf(WARM_UP); // of this way, too
      return rateOf(jobs);
    }),
);
