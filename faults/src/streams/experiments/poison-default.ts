import { atMost } from '../../experiment.js';
import type { StreamExperiment } from '../experiment.js';
import { longestGap } from '../measures.js';

/** Maximum time without a start of a handler, in ms. */
const GAP = 30_000;

/**
 * Messages that no handler can read come among the others, with keys of others, to handlers without options for failures.
 * Recovery: the longest time without a start of a handler.
 */
export const poisonDefault: StreamExperiment = {
  number: 9,
  name: 'poison-default',
  what: 'unreadable messages among the others; handlers have no failure options',
  passes:
    'all others are handled, the lag falls to 0, and each unreadable message becomes one dead letter that names its position',
  jobs: 20_000,
  smallJobs: 1_000,
  async run(lab) {
    const count = lab.pick(10, 100);
    lab.plain = true;
    await lab.begin(2);
    lab.push(lab.pick(10_000, 60_000));
    const poison: string[] = [];
    while (poison.length < count) {
      await lab.handles(lab.jobs / (2 * count));
      poison.push(await lab.pushPoison(`key-${poison.length % 30}`));
    }
    const found = await lab.settle();
    const letters = await lab.deadLetters();
    const recovery = longestGap(lab.history);
    return {
      found,
      recovery,
      checks: [
        atMost(
          'poison messages without a dead letter',
          poison.filter((each) => !letters.includes(each)).length,
          0,
        ),
        atMost('extra dead letters', letters.length - poison.length, 0),
        atMost('recovery', recovery, GAP, ' ms'),
      ],
      notes: [`${poison.length} messages that cannot be read`],
    };
  },
};
