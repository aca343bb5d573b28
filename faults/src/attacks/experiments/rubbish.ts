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
  what: '5,000 copies on each node that are not jobs at all',
  passes: `each is counted as rejected, and the logs have at most ${MOST_LINES} lines about them`,
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
    await lab.tries('all garbage is rejected', () => lab.refusedCount() >= stored);
    const lines = lab.consumerLines(/was buried/).length;
    return {
      checks: [
        atLeast('garbage counted as rejected', lab.refusedCount(), stored),
        atLeast('log lines about it', lines, 1),
        atMost('log lines about it', lines, MOST_LINES),
      ],
      notes: [`${lines} lines in the logs for ${stored} copies`],
    };
  },
};
