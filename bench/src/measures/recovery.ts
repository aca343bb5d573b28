import { alignClock, machineTime } from '../clock.js';
import { CONCURRENCY } from '../drain-round.js';
import { percentile } from 'test-servers';
import { row } from '../figures.js';
import type { Measure } from '../measure.js';
import { addResidents } from '../residents.js';
import { nestDq } from '../systems/nest-dq.js';
import { withSystem } from '../systems/system.js';
import { Traffic } from '../traffic.js';
import { pause } from '../waiting.js';

const QUEUE = 'meanwhile';
/** Adds a second. */
const RATE = 200;
/** Milliseconds from an add to its due time. */
const AHEAD = 1_000;
/** Milliseconds of traffic before the kill, between kill and restart, and after the node answers. */
const BEFORE = 3_000;
const AWAY = 2_000;
const AFTER = 5_000;
/** Milliseconds until the jobs that were added last have run: AHEAD plus the longest lateness that is promised. */
const LAST_RUNS = 6_000;

export const recovery: Measure = {
  name: 'recovery',
  title: `one of three nodes killed with a million jobs (50,000 with --quick) and restarted after ${AWAY / 1000} s, while the cluster adds and runs ${RATE} jobs/s`,
  run: ({ pick }) =>
    withSystem(nestDq, async ({ client, servers }) => {
      await addResidents(client, pick(1_000_000, 50_000));
      alignClock();
      const traffic = new Traffic(client, { queue: QUEUE, rate: RATE, ahead: AHEAD, copies: 3 });
      await traffic.start(CONCURRENCY);
      await pause(BEFORE);
      const [node] = servers.beanstalkds;
      await node!.kill();
      const killed = machineTime();
      await pause(AWAY);
      const from = performance.now();
      await node!.restart();
      const firstReply = performance.now() - from;
      await pause(AFTER);
      await traffic.stop(LAST_RUNS);
      const { adds, lates, failed, fullAgain, notRun } = traffic;
      return [
        row({ what: 'first reply of the node', unit: 's', ours: [firstReply / 1000] }),
        row({
          what: 'all three copies stored again, from the kill',
          unit: 's',
          ours: [(fullAgain - killed) / 1000],
        }),
        row({ what: 'adds meanwhile: p50', unit: 'ms', ours: [percentile(adds, 0.5)] }),
        row({ what: 'adds meanwhile: p99', unit: 'ms', ours: [percentile(adds, 0.99)] }),
        row({ what: 'adds meanwhile: worst', unit: 'ms', ours: [percentile(adds, 1)] }),
        row({ what: 'adds that failed', unit: 'jobs', ours: [failed], target: { of: 'ours', most: 0 } }),
        row({ what: 'lateness meanwhile: p99', unit: 'ms', ours: [percentile(lates, 0.99)] }),
        row({
          what: 'lateness meanwhile: worst',
          unit: 'ms',
          ours: [percentile(lates, 1)],
          target: { of: 'ours', most: 3_000 },
        }),
        row({ what: 'not run', unit: 'jobs', ours: [notRun], target: { of: 'ours', most: 0 } }),
      ];
    }),
};
