import { eventually } from 'test-servers';
import { apart } from '../apart.js';
import { row } from '../figures.js';
import type { Measure } from '../measure.js';
import { addResidents, RESIDENTS } from '../residents.js';
import { once } from '../rounds.js';
import { asOperator } from '../systems/nest-dq.js';
import { withSystem } from '../systems/system.js';

export const repair: Measure = {
  name: 'repair',
  title:
    'one of three nodes has lost its disk: DqControl.repair moves the jobs that wait, so that each has three copies again',
  run: async ({ pick }) => {
    const jobs = pick(20_000, 4_000);
    const repaired = await once(() => repairOf(jobs));
    return [
      row({
        what: `${jobs.toLocaleString('en-US')} jobs, moves/s`,
        unit: 'jobs/s',
        ours: repaired.map(({ moved, seconds }) => moved / seconds),
        target: { of: 'ours', least: 1_000 },
      }),
      row({
        what: 'not moved',
        unit: 'jobs',
        ours: repaired.map(({ moved, failed }) => jobs - moved + failed),
        target: { of: 'ours', most: 0 },
      }),
    ];
  },
};

export const repairOf = apart(import.meta.url, 'repairOf', (jobs: number) =>
  withSystem('nest-dq, repaired by hand', async ({ client, servers }) => {
    await addResidents(client, jobs);
    const [node] = servers.nodes;
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
      return { moved, failed, seconds: (performance.now() - from) / 1_000 };
    });
  }),
);
