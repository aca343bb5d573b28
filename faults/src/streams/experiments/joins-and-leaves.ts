import { atLeast, atMost, none } from '../../experiment.js';
import type { StreamExperiment } from '../experiment.js';

/** In the mean, by change: of 34 changes about 500. What may repeat waits for a retry, or is behind such a message. */
const REPEATS = 15;
/** At any time, handlers of most keys run. */
const LOAD = 0.9;

/**
 * As in deployments that never end: a consumer joins, then one leaves (SIGTERM), again and again. Before each rebalance all
 * members end what they run and commit it, so that partitions move with next to nothing to run again.
 */
export const joinsAndLeaves: StreamExperiment = {
  number: 8,
  name: 'joins-and-leaves',
  what: 'a consumer joins, then one leaves (SIGTERM), 17 times, at 1,000 messages a second',
  passes: 'at most 15 repeats per join or leave; no run is cut short',
  jobs: 240_000,
  smallJobs: 6_000,
  async run(lab) {
    const rounds = lab.pick(2, 17);
    await lab.begin(2);
    lab.push(lab.pick(45_000, 240_000), LOAD);
    for (let round = 0; round < rounds; round++) {
      await lab.handles(lab.jobs / (8 * rounds));
      await lab.changing('a join', () => lab.startConsumer());
      await lab.handles(lab.jobs / (8 * rounds));
      await lab.changing('a leave', () => lab.consumers[round]!.end('SIGTERM'));
    }
    const left = lab.jobs - lab.history.handledMessages;
    const found = await lab.settle();
    return {
      found,
      checks: [
        atLeast('messages that were left after the last change', left, 1),
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
