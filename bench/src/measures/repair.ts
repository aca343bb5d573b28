import { eventually } from 'test-servers';
import { row } from '../figures.js';
import type { Measure } from '../measure.js';
import { addResidents, RESIDENTS } from '../residents.js';
import { asOperator, connectNestDq, nestDq } from '../systems/nest-dq.js';
import { withSystem, type Product } from '../systems/system.js';

const repairedByHand: Product = {
  ...nestDq,
  connect: ({ beanstalks, redis }) => connectNestDq({ beanstalks: [...beanstalks], redis, repair: false }),
};

export const repair: Measure = {
  name: 'repair',
  title:
    'one of three nodes has lost its disk: DqControl.repair moves the jobs that wait, so that each has three copies again',
  run: ({ pick }) =>
    withSystem(repairedByHand, async ({ client, servers }) => {
      const jobs = pick(20_000, 4_000);
      await addResidents(client, jobs);
      const [node] = servers.beanstalkds;
      await node!.kill();
      await node!.wipe();
      await node!.restart();
      return asOperator(servers, async (inspector, control) => {
        const listed = async () => (await inspector.jobs(RESIDENTS, { limit: 1 })).listed;
        await eventually('all jobs are listed', async () => (await listed()) >= jobs);
        const from = performance.now();
        let [moved, failed] = [0, 0];
        for await (const { done, failed: lost } of control.repair({ tube: RESIDENTS }))
          [moved, failed] = [done, lost];
        const seconds = (performance.now() - from) / 1_000;
        return [
          row({
            what: `${jobs.toLocaleString('en-US')} jobs, moves/s`,
            unit: 'jobs/s',
            ours: [moved / seconds],
            target: { of: 'ours', least: 1_000 },
          }),
          row({
            what: 'not moved',
            unit: 'jobs',
            ours: [jobs - moved + failed],
            target: { of: 'ours', most: 0 },
          }),
        ];
      });
    }),
};
