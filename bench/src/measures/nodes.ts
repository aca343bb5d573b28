import { row } from '../figures.js';
import type { Measure, Row } from '../measure.js';
import { drainRate, scheduleRate, type ProductRate } from '../product-rates.js';
import { alternate } from '../rounds.js';

export const nodes: Measure = {
  name: 'nodes',
  title:
    'nest-dq on three `nest-dq serve`, beside the same on three beanstalkds, which sync their binlogs every 50 ms; those with folders sync before each answer; 3 copies',
  run: async ({ rounds, pick }) => {
    const compared = async (act: string, jobs: number, rate: ProductRate): Promise<Row[]> => {
      const { memory, folders, beanstalkds } = await alternate(rounds(5), {
        memory: () => rate('nest-dq, served in memory', jobs),
        folders: () => rate('nest-dq, served in folders', jobs),
        beanstalkds: () => rate('nest-dq', jobs),
      });
      const beside = { unit: 'jobs/s', beside: beanstalkds, besideName: 'beanstalkds' } as const;
      return [
        row({ what: `${act}, served in memory`, ours: memory, ...beside }),
        row({ what: `${act}, served with folders`, ours: folders, ...beside }),
      ];
    };
    return [
      ...(await compared('schedule', pick(100_000, 5_000), scheduleRate)),
      ...(await compared('drain', pick(20_000, 4_000), drainRate)),
    ];
  },
};
