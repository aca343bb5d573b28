import { atMost } from '../../experiment.js';
import type { StreamExperiment } from '../experiment.js';

const PARTITIONS = 64;
const KEYS = 512;
const BYTES = 100_000;
const MOST_MIB = 350;
/** Mean milliseconds of a handler: with 50 at a time, much longer than it takes to fetch. */
const WORK = 300;

/** A consumer finds a backlog of large messages in many partitions, and has them all to itself. */
export const manyPartitions: StreamExperiment = {
  number: 13,
  name: 'many-partitions',
  what: 'a consumer finds a backlog of messages of 100 KB in 64 partitions',
  passes: `its process never exceeds ${MOST_MIB} MiB`,
  jobs: 12_000,
  smallJobs: 1_500,
  async run(lab) {
    await lab.begin(0, 1, { partitions: PARTITIONS });
    lab.push(lab.pick(10_000, 60_000), 0.5, { keys: KEYS, padding: BYTES, work: WORK });
    await lab.allPushed();
    const consumer = await lab.startConsumer();
    await lab.eventually('all is handled', () => lab.history.open() === 0);
    const peak = Math.round(consumer.peakMemory() / 2 ** 20);
    const found = await lab.settle();
    return {
      found,
      checks: [atMost('memory of the consumer', peak, MOST_MIB, ' MiB')],
      notes: [`the consumer used at most ${peak} MiB`],
    };
  },
};
