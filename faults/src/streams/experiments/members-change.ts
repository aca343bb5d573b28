import { atMost, none } from '../../experiment.js';
import type { StreamExperiment } from '../experiment.js';

/** Milliseconds; nest-kq's `shutdownTimeout`. */
const SHUTDOWN_TIMEOUT = 10_000;

/** Consumers join and leave during the work, as in a deployment, so that partitions move between members that live. */
export const membersChange: StreamExperiment = {
  number: 3,
  name: 'members-change',
  what: 'a consumer that joins, then one that leaves (SIGTERM), 10 times',
  passes: 'no run is cut short; each process ends within its shutdown timeout',
  jobs: 20_000,
  smallJobs: 1_000,
  async run(lab) {
    const changes = lab.pick(2, 10);
    await lab.begin(2);
    lab.push(lab.pick(12_000, 60_000));
    let longestShutdown = 0;
    for (let change = 0; change < changes; change++) {
      await lab.handles(lab.jobs / (4 * changes));
      await lab.changing('a join', () => lab.startConsumer());
      await lab.handles(lab.jobs / (4 * changes));
      await lab.changing('a leave', async () => {
        const asked = performance.now();
        await lab.consumers[change]!.end('SIGTERM');
        longestShutdown = Math.max(longestShutdown, performance.now() - asked);
      });
    }
    const found = await lab.settle();
    return {
      found,
      checks: [
        none(
          'runs cut short',
          lab.history.allRuns().filter(({ end }) => !end),
        ),
        atMost('longest shutdown', Math.round(longestShutdown), SHUTDOWN_TIMEOUT, ' ms'),
      ],
    };
  },
};
