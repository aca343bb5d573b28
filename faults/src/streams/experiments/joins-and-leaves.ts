import { atMost, none } from '../../experiment.js';
import type { StreamExperiment } from '../experiment.js';

/** In the mean, by change: of 34 changes about 500. What may repeat waits for a retry, or is behind such a message. */
const REPEATS = 15;

/**
 * As in deployments that never end: a consumer joins, then one leaves (SIGTERM), again and again. Before each rebalance all
 * members end what they run and commit it, so that partitions move with next to nothing to run again.
 */
export const joinsAndLeaves: StreamExperiment = {
  number: 8,
  name: 'joins-and-leaves',
  what: 'a consumer joins, then one leaves (SIGTERM), 17 times, at 1,000 messages a second',
  passes: 'at most 15 repeats for each join or leave; no run is cut short',
  jobs: 240_000,
  smallJobs: 3_000,
  async run(lab) {
    const rounds = lab.pick(3, 17);
    await lab.begin(2);
    lab.push(lab.pick(15_000, 240_000));
    for (let round = 0; round < rounds; round++) {
      await lab.handles(lab.jobs / (3 * rounds));
      await lab.changing('a join', () => lab.startConsumer());
      await lab.handles(lab.jobs / (3 * rounds));
      await lab.changing('a leave', () => lab.consumers[round]!.end('SIGTERM'));
    }
    const found = await lab.settle();
    return {
      found,
      checks: [
        atMost('messages that ran again', found.repeats.length, REPEATS * 2 * rounds),
        none(
          'runs cut short',
          lab.history.allRuns().filter(({ end }) => !end || end.how === 'aborted'),
        ),
        none('overlaps', lab.history.overlaps),
      ],
    };
  },
};
