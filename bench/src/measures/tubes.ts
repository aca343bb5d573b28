import { nodeStats } from 'test-servers';
import { alignClock, machineTime } from '../clock.js';
import { cpuTime } from '../cpu.js';
import { dueAfterAdding } from '../drain-round.js';
import { row } from '../figures.js';
import { inFlight } from '../in-flight.js';
import type { Measure, Row } from '../measure.js';
import { payloads } from '../payload.js';
import { RunCount } from '../run-count.js';
import type { Servers } from '../servers.js';
import { nestDq } from '../systems/nest-dq.js';
import { withSystem, type System } from '../systems/system.js';
import { pause, pauseUntil } from '../waiting.js';

const TUBES = 2_000;
/** Handlers at once, of each tube. */
const SLOTS = 10;
/** Jobs of each tube that come due at one moment. */
const JOBS = 6;
/** Milliseconds until a process waits for its tubes: also after a burst, as a tube is busy for ten seconds more. */
const SETTLED = 20_000;
/** Milliseconds between two looks at the connections. */
const LOOK_EVERY = 100;
const MOST_CONNECTIONS = 50;
/** Percent of a core. */
const MOST_IDLE = 2;

export const tubes: Measure = {
  name: 'tubes',
  title: `one process that consumes ${TUBES.toLocaleString('en-US')} tubes on three nodes: idle, while each gets ${JOBS} jobs at one moment, and idle again`,
  run: ({ pick }) =>
    withSystem(nestDq, async (system) => {
      const { client, newQueue } = system;
      const queues = Array.from({ length: pick(TUBES, 200) }, newQueue);
      const runs = new RunCount(queues.length * JOBS);
      for (const queue of queues) await client.consume(queue, runs.add, SLOTS);
      // What is done once a minute is in it.
      const time = pick(60_000, 5_000);
      const before = await idle(system, time);
      const burst = await runAll(system, queues, runs);
      const after = await idle(system, time);
      return [
        ...rowsOf('idle', before),
        connectionsRow('burst: a node’s most', burst.connections),
        row({ what: 'burst', unit: 'jobs/s', ours: [burst.jobsPerSecond] }),
        ...rowsOf('idle after it', after),
      ];
    }),
};

interface Idle {
  /** Of the node that has most. */
  readonly connections: number;
  /** Percent of a core. */
  readonly client: number;
  readonly redis: number;
  readonly nodes: number;
}

function rowsOf(when: string, { connections, client, redis, nodes }: Idle): Row[] {
  return [
    connectionsRow(`${when}: a node’s most`, connections),
    row({
      what: `${when}: the process, of a core`,
      unit: '%',
      ours: [client],
      target: { of: 'ours', most: MOST_IDLE },
    }),
    row({ what: `${when}: Redis, of a core`, unit: '%', ours: [redis] }),
    row({ what: `${when}: the three nodes, of a core`, unit: '%', ours: [nodes] }),
  ];
}

function connectionsRow(what: string, connections: number): Row {
  return row({
    what,
    unit: 'connections',
    ours: [connections],
    target: { of: 'ours', most: MOST_CONNECTIONS },
  });
}

async function idle({ servers }: System, time: number): Promise<Idle> {
  const { redisServer, beanstalkds } = servers;
  const nodePids = beanstalkds.map(({ pid }) => pid);
  const used = async () => {
    const [redis, nodes] = await Promise.all([cpuTime([redisServer.pid]), cpuTime(nodePids)]);
    return { client: redis.client, redis: redis.servers, nodes: nodes.servers };
  };
  await pause(SETTLED);
  const before = await used();
  const from = performance.now();
  await pause(time);
  const after = await used();
  const share = (part: keyof typeof before) =>
    (100 * (after[part] - before[part])) / (performance.now() - from);
  return {
    client: share('client'),
    redis: share('redis'),
    nodes: share('nodes'),
    connections: await connectionsOf(servers),
  };
}

/** Adds some jobs to each queue, due at one moment. Resolves when all of them have run. */
async function runAll(
  system: System,
  queues: readonly string[],
  runs: RunCount,
): Promise<{ connections: number; jobsPerSecond: number }> {
  const jobs = queues.length * JOBS;
  alignClock();
  const due = dueAfterAdding(2 * jobs, system); // many tubes: fewer adds go together
  await inFlight(payloads(jobs, due), (payload) =>
    system.client.at(queues[payload.n % queues.length]!, payload),
  );
  if (machineTime() > due) throw new Error('the adds ended after the first was due');
  await pauseUntil(due);
  let isOver = false;
  const done = runs.done.finally(() => (isOver = true));
  let connections = 0;
  while (!isOver) {
    connections = Math.max(connections, await connectionsOf(system.servers));
    await Promise.race([done, pause(LOOK_EVERY)]);
  }
  await done;
  return { connections, jobsPerSecond: (1000 * jobs) / (runs.lastAt - due) };
}

/** Of the node that has most, without those that ask. */
async function connectionsOf({ beanstalkds }: Servers): Promise<number> {
  const stats = await Promise.all(beanstalkds.map(nodeStats));
  return Math.max(...stats.map((stat) => stat('current-connections') - 1));
}
