import { eventually } from 'test-servers';
import { apart } from '../apart.js';
import { CONCURRENCY } from '../drain-round.js';
import { row } from '../figures.js';
import type { Measure } from '../measure.js';
import { memoryOf } from '../memory.js';
import { payloads } from '../payload.js';
import { once } from '../rounds.js';
import { inFlight } from '../in-flight.js';
import { Servers } from '../servers.js';
import { connectNestDq } from '../systems/nest-dq.js';
import { PRODUCTS, type ProductName } from '../systems/products.js';
import { pause } from '../waiting.js';
import { withAndWithout } from '../with-and-without.js';

const KEPT: ProductName = 'nest-dq';
const QUEUE = 'failing';
const NOT_KEPT: ProductName = 'nest-dq, keeps no errors';
/** An error of 300 characters with its name, the most that is kept. */
const MESSAGE = 'no answer from the payment provider within 10 s '.repeat(10).slice(0, 295);
const PATIENCE_MS = 120_000;
/** Milliseconds for the completions after the last handler. */
const AFTERMATH_MS = 500;

export const keptErrors: Measure = {
  name: 'kept-errors',
  title:
    'nest-dq with the errors of retried jobs kept, and without (keepErrors: false): jobs that succeed, and bytes of a job of which each attempt failed with an error of 300 characters',
  run: async (settings) => {
    const jobs = settings.pick(10_000, 2_000);
    const bytes = async (attempts: number) =>
      row({
        what: `Redis, after ${attempts === 1 ? '1 attempt' : `${attempts} attempts`}`,
        unit: 'bytes/job',
        ours: await once(() => bytesAfter(true, jobs, attempts)),
        beside: await once(() => bytesAfter(false, jobs, attempts)),
        besideName: 'without',
      });
    return [...(await withAndWithout(KEPT, NOT_KEPT, settings)), await bytes(1), await bytes(3)];
  },
};

/** Bytes in Redis per job that waits for a retry after that number of failed attempts, index included. */
export const bytesAfter = apart(
  import.meta.url,
  'bytesAfter',
  async (keepErrors: boolean, jobs: number, attempts: number) => {
    const servers = await Servers.start(PRODUCTS[KEPT].nodes);
    try {
      const { beanstalks, redis } = servers;
      const backoff = (attempt: number) => (attempt < attempts ? 0 : '1h');
      const logLevels = { retries: 'off' } as const;
      const client = await connectNestDq({ beanstalks, redis, handlers: { backoff }, keepErrors, logLevels });
      const before = await memoryOf(servers);
      let failed = 0;
      await client.consume(
        QUEUE,
        () => {
          failed++;
          throw new Error(MESSAGE);
        },
        CONCURRENCY,
      );
      await inFlight(payloads(jobs), (payload) => client.now(QUEUE, payload));
      await eventually('all have failed', () => failed === attempts * jobs, PATIENCE_MS);
      await pause(AFTERMATH_MS);
      const after = await memoryOf(servers);
      await client.close();
      return (after.redis - before.redis) / jobs;
    } finally {
      await servers.stop();
    }
  },
);
