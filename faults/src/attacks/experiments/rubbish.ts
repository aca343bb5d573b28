import type { Attack } from '../attack.js';
import { storeEvenly } from '../evenly.js';
import { atLeast, atMost } from '../../experiment.js';
import { TUBES } from '../workload.js';

const TUBE = TUBES[0];
/** A minute of a tube has one line in each process; an attack is over within two. */
const MOST_LINES = 10;

/** Many copies that are no copies of jobs at all. */
export const rubbish: Attack = {
  number: 12,
  name: 'rubbish',
  what: '5,000 copies on each node that are no jobs at all',
  passes: `each is counted as refused, and the logs have at most ${MOST_LINES} lines of them`,
  jobs: 3_000,
  smallJobs: 240,
  async run(lab) {
    await lab.startApplication();
    const count = lab.pick(500, 5_000);
    await storeEvenly(
      lab,
      TUBE,
      Array.from({ length: count }, (_, i) => `rubbish ${i}`),
    );
    await lab.load;
    const stored = lab.attacker.stored;
    await lab.tries('all rubbish is refused', () => lab.refusedCount() >= stored);
    const lines = lab.consumerLines(/was buried/).length;
    return {
      checks: [
        atLeast('rubbish that was counted as refused', lab.refusedCount(), stored),
        atLeast('lines of it', lines, 1),
        atMost('lines of it', lines, MOST_LINES),
      ],
      notes: [`${lines} lines in the logs for ${stored} copies`],
    };
  },
};
