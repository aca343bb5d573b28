import { Redis } from 'ioredis';
import { apart } from '../apart.js';
import { alignClock } from '../clock.js';
import { CONCURRENCY } from '../drain-round.js';
import { percentile } from 'test-servers';
import { row } from '../figures.js';
import type { Measure } from '../measure.js';
import { Program } from '../program.js';
import type { ReplacerArguments, ReplacerReport } from '../replacer/report.js';
import { alternate } from '../rounds.js';
import type { Places } from '../servers.js';
import { withSystem, type System } from '../systems/system.js';
import { Traffic, type Seen } from '../traffic.js';
import { pause } from '../waiting.js';

const HOT = 'hot';
const KEY = 'the-key';
/** Replaces a second by all processes together. */
const RATE = 2_000;
const PROCESSES = 2;
/** Milliseconds of the other queue alone. */
const WITHOUT = 10_000;
/** Milliseconds from each replace to its due time. */
const DELAY = 5_000;
/** The traffic of the other queue; see `TrafficSettings`. */
const ORDINARY = { queue: 'ordinary', rate: 100, ahead: 1_500, copies: 3 };
/** Milliseconds until the jobs that were added last have run: `ahead` plus the longest lateness that is promised. */
const LAST_RUNS = 6_500;

interface Round extends Seen {
  /** The replaces a second that were acknowledged. */
  readonly rate: number;
  readonly replacesFailed: number;
  /** The largest record of the hot queue at the end, in bytes. */
  readonly record: number;
}

export const hotKey: Measure = {
  name: 'hot-key',
  title: `one key replaced ${RATE.toLocaleString('en-US')} times a second by ${PROCESSES} processes, for a minute (20 s with --quick), its copies consumed in the same process as another queue; beside ten seconds without that key`,
  run: async ({ rounds, pick }) => {
    const time = pick(60_000, 20_000);
    const { hot, without } = await alternate(rounds(1), {
      hot: () => hotRound(time),
      without: () => quietRound(WITHOUT),
    });
    const late = (part: number) => (seen: Seen) => percentile(seen.lates, part);
    return [
      row({
        what: 'replaces',
        unit: 'jobs/s',
        ours: hot.map(({ rate }) => rate),
        target: { of: 'ours', least: 0.99 * RATE },
      }),
      row({
        what: 'replaces that failed',
        unit: 'jobs',
        ours: hot.map(({ replacesFailed }) => replacesFailed),
        target: { of: 'ours', most: 0 },
      }),
      row({
        what: 'the record of the key',
        unit: 'bytes',
        ours: hot.map(({ record }) => record),
        target: { of: 'ours', most: 1_024 },
      }),
      ...[0.5, 0.99, 1].map((part) =>
        row({
          what: `another queue's lateness: ${part === 1 ? 'worst' : `p${100 * part}`}`,
          unit: 'ms',
          ours: hot.map(late(part)),
          beside: without.map(late(part)),
          besideName: 'without',
        }),
      ),
      row({
        what: "another queue's adds that failed",
        unit: 'jobs',
        ours: hot.map(({ failed }) => failed),
        target: { of: 'ours', most: 0 },
      }),
      row({
        what: "another queue's jobs not run",
        unit: 'jobs',
        ours: hot.map(({ notRun }) => notRun),
        target: { of: 'ours', most: 0 },
      }),
    ];
  },
};

export const quietRound = apart(import.meta.url, 'quietRound', (time: number) =>
  withSystem('nest-dq', (system) => ordinary(system, time)),
);

export const hotRound = apart(import.meta.url, 'hotRound', (time: number) =>
  withSystem('nest-dq', async (system): Promise<Round> => {
    const { places } = system.servers;
    await system.client.consume(HOT, () => undefined, CONCURRENCY);
    const given: ReplacerArguments = { places, queue: HOT, key: KEY, rate: RATE / PROCESSES, delay: DELAY };
    const start = () => Program.start<ReplacerReport>('replacer/main.js', given);
    const replacers = await Promise.all(Array.from({ length: PROCESSES }, start));
    try {
      const from = performance.now();
      const seen = await ordinary(system, time);
      const last = replacers.map(({ reports }) => reports.at(-1)!);
      const seconds = (performance.now() - from) / 1000;
      for (const { error } of last)
        if (error !== undefined) process.stderr.write(`a replace failed: ${error}\n`);
      return {
        ...seen,
        rate: last.reduce((sum, { stored }) => sum + stored, 0) / seconds,
        replacesFailed: last.reduce((sum, { failed }) => sum + failed, 0),
        record: await largestRecord(places),
      };
    } finally {
      await Promise.all(replacers.map((replacer) => replacer.stop()));
    }
  }),
);

async function ordinary({ client }: System, time: number): Promise<Seen> {
  alignClock();
  const traffic = new Traffic(client, ORDINARY);
  await traffic.start(CONCURRENCY);
  await pause(time);
  await traffic.stop(LAST_RUNS);
  return traffic.seen();
}

/** The size of the largest record that Redis stores for the hot queue; 0 if there is none. */
async function largestRecord({ redis: url }: Places): Promise<number> {
  const redis = new Redis(url);
  try {
    const sizes = (await redis.keys(`*{*${HOT}}*`)).map(async (name) =>
      (await redis.type(name)) === 'string' ? redis.strlen(name) : 0,
    );
    return Math.max(0, ...(await Promise.all(sizes)));
  } finally {
    redis.disconnect();
  }
}
