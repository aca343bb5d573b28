import { apart } from '../apart.js';
import { drainRound } from '../drain-round.js';
import { row } from '../figures.js';
import type { Measure, Row, Target, Unit } from '../measure.js';
import { memoryOf, type Memory } from '../memory.js';
import { addResidents } from '../residents.js';
import { once } from '../rounds.js';
import type { ProductName } from '../systems/products.js';
import { withSystem } from '../systems/system.js';

/** The target for all three nodes together, in bytes a job that waits. */
const ON_NODES: Target = { of: 'ours', most: 1_200 };

export const memory: Measure = {
  name: 'memory',
  title: 'bytes a job of 200 bytes, waiting with 3 copies, and finished (of BullMQ with removeOnComplete)',
  run: async ({ pick }) => {
    const [some, many] = [pick(100_000, 10_000), pick(300_000, 50_000)];
    const finished = pick(20_000, 4_000);
    const ours = await once(() => waitingMemory('nest-dq', [some, many]));
    const peer = await once(() => waitingMemory('BullMQ', [some]));
    const waiting = (count: number) => `${count.toLocaleString('en-US')} waiting`;
    const unit: Unit = 'bytes/job';
    const rows: Row[] = [
      row({
        what: `Redis, ${waiting(some)}`,
        unit,
        ours: ours.map(([atSome]) => atSome!.redis),
        beside: peer.map(([atSome]) => atSome!.redis),
      }),
      row({ what: `Redis, ${waiting(many)}`, unit, ours: ours.map(([, atMany]) => atMany!.redis) }),
      row({
        what: `keys in Redis, ${waiting(many)}`,
        unit: 'a job',
        ours: ours.map(([, atMany]) => atMany!.keys),
        beside: peer.map(([atSome]) => atSome!.keys),
        // The keys of the index.
        target: { of: 'ours', most: 0.001 },
      }),
      ...[some, many].map((count, index) =>
        row({
          what: `beanstalkds, ${waiting(count)}`,
          unit,
          ours: ours.map((at) => at[index]!.beanstalkds),
          target: ON_NODES,
        }),
      ),
      row({
        what: 'Redis, finished, until its record expires',
        unit,
        ours: await once(() => finishedBytes('nest-dq', finished)),
        beside: await once(() => finishedBytes('BullMQ', finished)),
      }),
    ];
    return rows;
  },
};

/** Returns the memory per job at each number of waiting jobs. `counts`: ascending. */
export const waitingMemory = apart(
  import.meta.url,
  'waitingMemory',
  (product: ProductName, counts: readonly number[]) =>
    withSystem(product, async ({ client, servers }) => {
      const begin = await memoryOf(servers);
      const taken: Memory[] = [];
      let waiting = 0;
      for (const count of counts) {
        await addResidents(client, count - waiting);
        waiting = count;
        taken.push(perJob(begin, await memoryOf(servers), count));
      }
      return taken;
    }),
);

export const finishedBytes = apart(import.meta.url, 'finishedBytes', (product: ProductName, jobs: number) =>
  withSystem(product, async (system) => {
    const begin = await memoryOf(system.servers);
    await drainRound(system, jobs);
    return perJob(begin, await memoryOf(system.servers), jobs).redis;
  }),
);

function perJob(before: Memory, after: Memory, jobs: number): Memory {
  return {
    redis: (after.redis - before.redis) / jobs,
    keys: (after.keys - before.keys) / jobs,
    beanstalkds: (after.beanstalkds - before.beanstalkds) / jobs,
  };
}
