import { atLeast, atMost } from '../../experiment.js';
import type { StreamExperiment } from '../experiment.js';

/** Time for which Redis is down, in ms. */
const AWAY = 8_000;
const RECOVERED_WITHIN = 60_000;

/**
 * One of 50 messages fails at first, and runs again through nest-dq, whose Redis is killed for a while. After its return, a
 * consumer is killed and replaced.
 * Recovery: from the return of Redis to the first start of a message that had failed.
 */
export const dqRedisAway: StreamExperiment = {
  number: 7,
  name: 'dq-redis-away',
  what: 'failed messages go through nest-dq, whose Redis is killed and restarted; then a consumer is killed',
  passes: 'each failed message runs again once per failure; no copy of a job is left',
  jobs: 20_000,
  smallJobs: 1_000,
  async run(lab) {
    const redis = await lab.startDq();
    await lab.begin(3);
    lab.push(lab.pick(24_000, 60_000));
    await lab.handles(lab.jobs / 5);
    const from = Date.now();
    await redis.kill();
    await lab.until(from + AWAY);
    await redis.restart();
    const back = Date.now();
    await lab.handles(lab.jobs / 5);
    const victim = lab.consumers[0]!;
    await lab.eventually('it is running handlers', () => lab.history.runningIn(victim.name).length > 0);
    await lab.changing(`the kill of ${victim.name}`, async () => {
      await victim.end('SIGKILL');
      await lab.startConsumer();
    });
    const found = await lab.settle();
    const runs = lab.history.allRuns();
    const failedAway = runs.filter(({ end }) => end?.how === 'fail' && end.at > from && end.at < back);
    const next = runs.find(({ at, attempt }) => attempt > 1 && at > back);
    const recovery = next ? next.at - back : NaN;
    return {
      found,
      recovery,
      checks: [
        atLeast('messages that failed while Redis was away', failedAway.length, 1),
        atMost('recovery', recovery, RECOVERED_WITHIN, ' ms'),
        atMost('copies of jobs left on the nodes', await lab.copiesLeft(), 0),
      ],
      notes: [`${failedAway.length} runs failed while Redis was away`],
    };
  },
};
