import { atMost, none, type Experiment } from '../experiment.js';
import { recoveryTime } from '../measures.js';

/** Maximum recovery time in ms. */
const RECOVERED_WITHIN = 15_000;
const SHUTDOWN_TIMEOUT = 10_000;
const NODES_AWAY = 2_000;

/**
 * First all nodes are killed at once and come back. Then, as in a deployment, one consumer after the other is replaced and
 * gets a SIGTERM while its handlers run.
 * Recovery: from the return of the nodes until no job is overdue.
 */
export const rollingRestarts: Experiment = {
  number: 16,
  name: 'rolling-restarts',
  what: '50 consumers, all nodes restarted; rolling SIGTERM under load',
  passes: 'duplicates 0; recovered within 15 s; each process ends within its shutdown timeout',
  jobs: 20_000,
  smallJobs: 400,
  async run(lab) {
    const consumers = lab.pick(5, 50);
    const options = { shutdownTimeout: SHUTDOWN_TIMEOUT };
    const producer = await lab.begin(consumers, options);
    const times = lab.timetable(lab.jobs, consumers * lab.pick(1_500, 2_000));

    await producer.addMany(lab.jobs, (i) => ({
      due: times.at(i / lab.jobs),
      acts: [{ ms: 50 + (i % 10) * 50 }],
    }));
    await lab.until(times.at(0.1));
    await Promise.all(lab.beanstalkds.map((node) => node.kill()));
    await lab.until(Date.now() + NODES_AWAY);
    await Promise.all(lab.beanstalkds.map((node) => node.restart()));
    const back = Date.now();
    await lab.until(times.at(0.4));
    let longestShutdown = 0;
    for (const consumer of lab.consumers.slice(0, consumers)) {
      await lab.startConsumer(options);
      const asked = performance.now();
      await consumer.end('SIGTERM');
      longestShutdown = Math.max(longestShutdown, performance.now() - asked);
    }

    const found = await lab.settle();
    const recovery = recoveryTime(lab.history, back);
    return {
      found,
      recovery,
      checks: [
        none('duplicates', found.duplicates),
        none(
          'runs cut short',
          [...lab.history.allRuns()].filter(({ end }) => !end),
        ),
        atMost('recovery', recovery, RECOVERED_WITHIN, ' ms'),
        atMost('longest shutdown', Math.round(longestShutdown), SHUTDOWN_TIMEOUT, ' ms'),
      ],
    };
  },
};
