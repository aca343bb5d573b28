import { nodeStats } from 'test-servers';
import { apart } from '../apart.js';
import { alignClock, machineTime } from '../clock.js';
import { cpuTime } from '../cpu.js';
import { dueAfterAdding } from '../drain-round.js';
import { row } from '../figures.js';
import { inFlight } from '../in-flight.js';
import type { Measure, Row } from '../measure.js';
import { payloads, type Payload } from '../payload.js';
import { once, type Rounds } from '../rounds.js';
import { RunCount } from '../run-count.js';
import type { Servers } from '../servers.js';
import { withSystem, type System } from '../systems/system.js';
import { pause, pauseUntil } from '../waiting.js';

const TUBES = 2_000;
/** Handlers at once, of each tube. */
const SLOTS = 10;
/** Jobs of each tube that come due at one moment. */
const JOBS = 6;
/** In which order they come from the nodes. */
const ORDERS = [
  { name: 'in turns', tubeOf: (n: number, tubes: number) => n % tubes },
  { name: 'tube by tube', tubeOf: (n: number) => Math.floor(n / JOBS) },
];
/**
 * Milliseconds until the process is idle. A minute after a job, the ledger is notified that its copies are certainly gone. The
 * garbage collector gives memory back up to a minute after the start, and later than that after a burst: some 400 ms of work, once.
 */
const SETTLED = 80_000;
/** Milliseconds between two looks at the connections. */
const LOOK_EVERY = 100;
const MOST_CONNECTIONS = 50;
/** Percent of a core. */
const MOST_IDLE = 2;

export const tubes: Measure = {
  name: 'tubes',
  title: `one process that consumes ${TUBES.toLocaleString('en-US')} tubes on three nodes: idle, while ${JOBS} jobs of each are due at one moment, and idle again`,
  run: async ({ pick }) => {
    const rounds = await once(() => tubesRound(pick(TUBES, 200), pick(15_000, 5_000)));
    return [
      ...rowsOf('idle', rounds, ({ before }) => before),
      ...ORDERS.flatMap(({ name }, order) => {
        const bursts = rounds.map(({ bursts }) => bursts[order]!);
        const rates = bursts.map(({ jobsPerSecond }) => jobsPerSecond);
        const connections = bursts.map((burst) => burst.connections);
        return [
          connectionsRow(`due ${name}: a node’s most`, connections),
          row({ what: `due ${name}`, unit: 'jobs/s', ours: rates }),
        ];
      }),
      ...rowsOf('idle again', rounds, ({ after }) => after),
    ];
  },
};

interface Tubes {
  readonly before: Idle;
  /** As in ORDERS. */
  readonly bursts: readonly Burst[];
  readonly after: Idle;
}

/** `time`: milliseconds of each of both looks at the idle process. */
export const tubesRound = apart(
  import.meta.url,
  'tubesRound',
  (count: number, time: number): Promise<Tubes> =>
    withSystem('nest-dq', async (system) => {
      const { client, newQueue } = system;
      const queues = Array.from({ length: count }, newQueue);
      let runs: RunCount;
      const handle = (payload: Payload) => runs.add(payload);
      for (const queue of queues) await client.consume(queue, handle, SLOTS);
      const before = await idle(system, time);
      const bursts: Burst[] = [];
      for (const { tubeOf } of ORDERS) {
        runs = new RunCount(queues.length * JOBS);
        const queueOf = (n: number) => queues[tubeOf(n, queues.length)]!;
        bursts.push(await runAll(system, queueOf, runs, queues.length * JOBS));
      }
      return { before, bursts, after: await idle(system, time) };
    }),
);

interface Burst {
  readonly connections: number;
  readonly jobsPerSecond: number;
}

interface Idle {
  /** Connections of the node with the most. */
  readonly connections: number;
  /** Percent of a core. */
  readonly client: number;
  readonly redis: number;
  readonly nodes: number;
}

function rowsOf(when: string, rounds: Rounds<Tubes>, of: (round: Tubes) => Idle): Row[] {
  const idle = rounds.map(of);
  return [
    connectionsRow(
      `${when}: a node’s most`,
      idle.map(({ connections }) => connections),
    ),
    row({
      what: `${when}: the process, of a core`,
      unit: '%',
      ours: idle.map(({ client }) => client),
      target: { of: 'ours', most: MOST_IDLE },
    }),
    row({ what: `${when}: Redis, of a core`, unit: '%', ours: idle.map(({ redis }) => redis) }),
    row({ what: `${when}: the three nodes, of a core`, unit: '%', ours: idle.map(({ nodes }) => nodes) }),
  ];
}

function connectionsRow(what: string, ours: Rounds<number>): Row {
  return row({ what, unit: 'connections', ours, target: { of: 'ours', most: MOST_CONNECTIONS } });
}

async function idle({ servers }: System<Servers>, time: number): Promise<Idle> {
  const { redisServer, nodes: each } = servers;
  const nodePids = each.map(({ pid }) => pid);
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

/** Adds jobs, due at one moment. Resolves when all of them have run. `queueOf`: the queue of a job, by its number. */
async function runAll(
  system: System<Servers>,
  queueOf: (n: number) => string,
  runs: RunCount,
  jobs: number,
): Promise<Burst> {
  alignClock();
  const due = dueAfterAdding(4 * jobs, system); // many tubes: fewer adds go together
  await inFlight(payloads(jobs, due), (payload) => system.client.at(queueOf(payload.n), payload));
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

/** Returns the connections of the node with the most, except the one that asks. */
async function connectionsOf({ nodes }: Servers): Promise<number> {
  const stats = await Promise.all(nodes.map(nodeStats));
  return Math.max(...stats.map((stat) => stat('current-connections') - 1));
}
