import { apart } from '../apart.js';
import { alignClock } from '../clock.js';
import type { ConsumerArguments, ConsumerReport } from '../consumer/report.js';
import { addBeforeDue, CONCURRENCY, dueAfterAdding } from '../drain-round.js';
import { row } from '../figures.js';
import { inFlight } from '../in-flight.js';
import type { Measure, Row, Settings } from '../measure.js';
import { nodeStats } from 'test-servers';
import { payloads } from '../payload.js';
import { Program } from '../program.js';
import { alternate, once } from '../rounds.js';
import type { Servers } from '../servers.js';
import type { ProductName } from '../systems/products.js';
import { withSystem, type System } from '../systems/system.js';
import { pause } from '../waiting.js';
import { WARM_UP } from '../warm-up.js';

/** Processes that drain a queue together. */
const COUNTS = [1, 2, 4];
/** Milliseconds between two checks of the reports. */
const LOOK_EVERY = 20;
/** Milliseconds after the due time until all jobs must have run. */
const LIMIT = 60_000;
/** Jobs before those of unequal processes, which then know how long their handlers take. */
const UNEQUAL_WARM_UP = 300;

export const processes: Measure = {
  name: 'processes',
  title: `drain by several consumer processes that have run ${WARM_UP.toLocaleString('en-US')} jobs each; and two that have run ${UNEQUAL_WARM_UP} together, with 50 slots each, handlers of 100 and of 200 ms`,
  run: async (settings) => [...(await drains(settings)), ...(await unequal(settings))],
};

async function drains({ rounds, pick }: Settings): Promise<Row[]> {
  const jobs = pick(20_000, 4_000);
  const { ours, peer } = await alternate(rounds(2), {
    ours: () => drainsBy('nest-dq', jobs),
    peer: () => drainsBy('BullMQ', jobs),
  });
  return COUNTS.map((count, index) =>
    row({
      what: `${count} process${count > 1 ? 'es' : ''}`,
      unit: 'jobs/s',
      ours: ours.map((rates) => rates[index]!),
      beside: peer.map((rates) => rates[index]!),
    }),
  );
}

/** Jobs a second, by each number of consumer processes, which are new ones each time. */
export const drainsBy = apart(import.meta.url, 'drainsBy', (product: ProductName, jobs: number) =>
  withSystem(product, async (system) => {
    const rates: number[] = [];
    for (const count of COUNTS) {
      const handlers = Array.from({ length: count }, () => 0);
      const warmUp = count * WARM_UP;
      const { due, consumers } = await runJobs(system, handlers, CONCURRENCY, jobs, { warmUp });
      const last = Math.max(...consumers.map(({ reports }) => reports.at(-1)!.lastAt));
      rates.push((1000 * jobs) / (last - due));
    }
    return rates;
  }),
);

/** Slots of each of the two unequal processes. */
const SLOTS = 50;
/** How long their handlers run, in ms. Together the processes run 750 jobs a second. */
const HANDLERS = [100, 200];
/** Both have enough to do from FROM ms after the due time until this part of the jobs (UP_TO) has run. */
const FROM = 1_000;
const UP_TO = 0.85;

/** How these jobs come due: all at one moment, or a quarter faster than both processes can run them. */
const ARRIVALS = [
  { name: 'due at once', over: 0 },
  { name: 'due by and by', over: 1 / 1.25 },
];

async function unequal({ pick }: Settings): Promise<Row[]> {
  const jobs = pick(7_500, 3_000);
  const rows: Row[] = [];
  for (const { name, over } of ARRIVALS) {
    const round = await once(() => unequalRound(jobs, over));
    rows.push(
      ...HANDLERS.map((ms, index) =>
        row({
          what: `${name}, handlers of ${ms} ms: busy`,
          unit: '%',
          ours: round.map(({ shares }) => shares[index]!),
          target: { of: 'ours', least: 80 },
        }),
      ),
      row({
        what: `${name}: releases`,
        unit: 'a job',
        ours: round.map(({ releases }) => releases),
        target: { of: 'ours', most: 0.5 },
      }),
    );
  }
  return rows;
}

/**
 * How busy each process was, in percent of its slots, and the number of releases for each job. `over`: the part of the time that both
 * processes need in which the jobs come due.
 */
export const unequalRound = apart(import.meta.url, 'unequalRound', (jobs: number, over: number) =>
  withSystem('nest-dq', async (system) => {
    const perSecond = HANDLERS.reduce((rate, ms) => rate + (1000 * SLOTS) / ms, 0);
    const takes = (1000 * jobs) / perSecond;
    const releasesBefore = await releasesOf(system.servers);
    const { due, consumers } = await runJobs(system, HANDLERS, SLOTS, jobs, {
      warmUp: UNEQUAL_WARM_UP,
      over: takes * over,
    });
    const shares = consumers.map((consumer) => {
      const first = consumer.reportAt(due + FROM);
      const last = consumer.reportAt(due + UP_TO * takes);
      return (100 * (last.busy - first.busy)) / (SLOTS * (last.at - first.at));
    });
    return { shares, releases: ((await releasesOf(system.servers)) - releasesBefore) / jobs };
  }),
);

async function releasesOf({ nodes }: Servers): Promise<number> {
  const stats = await Promise.all(nodes.map(nodeStats));
  return stats.reduce((sum, stat) => sum + stat('cmd-release'), 0);
}

/**
 * Starts a process for each handler time. They first run `warmUp` jobs together. Then jobs come due evenly over `over` ms.
 * Resolves when all jobs have run.
 */
async function runJobs(
  system: System<Servers>,
  handlers: readonly number[],
  concurrency: number,
  jobs: number,
  { warmUp = 0, over = 0 },
): Promise<{ due: number; consumers: ConsumerProcess[] }> {
  const { product, servers } = system;
  const queue = system.newQueue();
  const consumers: ConsumerProcess[] = [];
  alignClock();
  try {
    for (const handler of handlers) {
      const given = { product, places: servers.places, queue, concurrency, handler };
      consumers.push(await ConsumerProcess.start(given));
    }
    await inFlight(payloads(warmUp), (payload) => system.client.now(queue, payload));
    await allRan(consumers, warmUp, Date.now() + LIMIT);
    const due = dueAfterAdding(jobs, system);
    await addBeforeDue(
      system,
      queue,
      payloads(jobs, (n) => due + Math.floor((over * n) / jobs)),
    );
    await allRan(consumers, warmUp + jobs, due + LIMIT);
    return { due, consumers };
  } finally {
    await Promise.all(consumers.map((consumer) => consumer.stop()));
  }
}

async function allRan(consumers: readonly ConsumerProcess[], jobs: number, limit: number): Promise<void> {
  const count = () => consumers.reduce((sum, consumer) => sum + consumer.count, 0);
  while (count() < jobs) {
    if (Date.now() > limit) throw new Error(`only ${count()} of ${jobs} jobs ran within a minute`);
    await pause(LOOK_EVERY);
  }
  if (count() > jobs) throw new Error(`${count()} runs of ${jobs} jobs`);
}

/** A consumer in a process of its own. */
class ConsumerProcess {
  private constructor(private readonly program: Program<ConsumerReport>) {}

  /** Resolves when the process consumes. */
  static async start(given: ConsumerArguments): Promise<ConsumerProcess> {
    return new ConsumerProcess(await Program.start('consumer/main.js', given));
  }

  /** Its reports, oldest first. */
  get reports(): readonly ConsumerReport[] {
    return this.program.reports;
  }

  /** The runs begun, by its last report. */
  get count(): number {
    return this.reports.at(-1)?.count ?? 0;
  }

  /** The first report at this instant (ms since 1970) or later. If there is none, the last report. */
  reportAt(instant: number): ConsumerReport {
    return this.reports.find(({ at }) => at >= instant) ?? this.reports.at(-1)!;
  }

  /** Kills the process; resolves when it is gone. */
  stop(): Promise<void> {
    return this.program.stop();
  }
}
