import { row } from '../figures.js';
import type { Measure } from '../measure.js';
import { ACTS, bothRates, type Rates } from '../product-rates.js';
import { alternate, type Rounds } from '../rounds.js';

export const nodes: Measure = {
  name: 'nodes',
  title:
    'nest-dq on three `nest-dq serve`, beside the same on three beanstalkds, which sync their binlogs every 50 ms; those with folders sync before each answer; 3 copies',
  run: async ({ rounds, pick }) => {
    const sizes = { schedule: pick(100_000, 5_000), drain: pick(20_000, 4_000) };
    const { memory, folders, beanstalkds } = await alternate(rounds(5), {
      memory: () => bothRates('nest-dq, served in memory', sizes),
      folders: () => bothRates('nest-dq, served in folders', sizes),
      beanstalkds: () => bothRates('nest-dq', sizes),
    });
    return ACTS.flatMap((act) => {
      const of = (rates: Rounds<Rates>) => rates.map((each) => each[act]);
      const beside = { unit: 'jobs/s', beside: of(beanstalkds), besideName: 'beanstalkds' } as const;
      return [
        row({ what: `${act}, served in memory`, ours: of(memory), ...beside }),
        row({ what: `${act}, served with folders`, ours: of(folders), ...beside }),
      ];
    });
  },
};
