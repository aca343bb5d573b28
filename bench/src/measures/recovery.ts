import { apart } from '../apart.js';
import { alignClock, machineTime } from '../clock.js';
import { CONCURRENCY } from '../drain-round.js';
import { percentile } from 'test-servers';
import { row } from '../figures.js';
import type { Measure } from '../measure.js';
import { addResidents } from '../residents.js';
import { once } from '../rounds.js';
import { withSystem } from '../systems/system.js';
import { Traffic, type Seen } from '../traffic.js';
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
  title: `one of three nodes killed with 300,000 jobs (50,000 with --quick) and restarted after ${AWAY / 1000} s, while the cluster adds and runs ${RATE} jobs/s`,
  run: async ({ pick }) => {
    const seen = await once(() => killAndRestart(pick(300_000, 50_000)));
    const of = (value: (of: Recovery) => number) => seen.map(value);
    return [
      row({ what: 'first reply of the node', unit: 's', ours: of(({ firstReply }) => firstReply) }),
      row({
        what: 'all three copies stored again, from the kill',
        unit: 's',
        ours: of(({ fullAgain }) => fullAgain),
      }),
      row({ what: 'adds meanwhile: p50', unit: 'ms', ours: of(({ adds }) => percentile(adds, 0.5)) }),
      row({ what: 'adds meanwhile: p99', unit: 'ms', ours: of(({ adds }) => percentile(adds, 0.99)) }),
      row({ what: 'adds meanwhile: worst', unit: 'ms', ours: of(({ adds }) => percentile(adds, 1)) }),
      row({
        what: 'adds that failed',
        unit: 'jobs',
        ours: of(({ failed }) => failed),
        target: { of: 'ours', most: 0 },
      }),
      row({ what: 'lateness meanwhile: p99', unit: 'ms', ours: of(({ lates }) => percentile(lates, 0.99)) }),
      row({
        what: 'lateness meanwhile: worst',
        unit: 'ms',
        ours: of(({ lates }) => percentile(lates, 1)),
        target: { of: 'ours', most: 3_000 },
      }),
      row({
        what: 'not run',
        unit: 'jobs',
        ours: of(({ notRun }) => notRun),
        target: { of: 'ours', most: 0 },
      }),
    ];
  },
};

interface Recovery extends Seen {
  /** From the start of the node, in seconds. */
  readonly firstReply: number;
  /** From the kill, in seconds. */
  readonly fullAgain: number;
}

/** Kills and restarts a node, with `residents` other jobs in the logs. */
export const killAndRestart = apart(import.meta.url, 'killAndRestart', (residents: number) =>
  withSystem('nest-dq', async ({ client, servers }): Promise<Recovery> => {
    await addResidents(client, residents);
    alignClock();
    const traffic = new Traffic(client, { queue: QUEUE, rate: RATE, ahead: AHEAD, copies: 3 });
    await traffic.start(CONCURRENCY);
    await pause(BEFORE);
    const [node] = servers.nodes;
    await node!.kill();
    const killed = machineTime();
    await pause(AWAY);
    const from = performance.now();
    await node!.restart();
    const firstReply = (performance.now() - from) / 1_000;
    await pause(AFTER);
    await traffic.stop(LAST_RUNS);
    return { ...traffic.seen(), firstReply, fullAgain: (traffic.fullAgain - killed) / 1_000 };
  }),
);
