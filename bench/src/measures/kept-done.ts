import { eventually } from 'test-servers';
import { apart } from '../apart.js';
import { CONCURRENCY } from '../drain-round.js';
import { row } from '../figures.js';
import { inFlight } from '../in-flight.js';
import type { Measure } from '../measure.js';
import { memoryOf } from '../memory.js';
import { payloads } from '../payload.js';
import { once } from '../rounds.js';
import { Servers } from '../servers.js';
import { connectNestDq } from '../systems/nest-dq.js';
import { PRODUCTS, type ProductName } from '../systems/products.js';
import { pause } from '../waiting.js';
import { withAndWithout } from '../with-and-without.js';

const KEPT: ProductName = 'nest-dq, keeps completed jobs';
const NOT_KEPT: ProductName = 'nest-dq';
const QUEUE = 'finished';
const PATIENCE_MS = 120_000;
/** Milliseconds for the completions after the last handler. */
const AFTERMATH_MS = 500;
/** A result of 100 characters of JSON. */
const RESULT = { note: 'x'.repeat(89) };
const KINDS = {
  'neither key nor result': [false, false],
  'a key': [true, false],
  both: [true, true],
} as const;

export const keptDone: Measure = {
  name: 'kept-done',
  title:
    'nest-dq with completed jobs kept (keepDone), and without: jobs that succeed, and bytes of a kept job, with a key of 12 characters and a result of 100',
  run: async (settings) => {
    const jobs = settings.pick(10_000, 2_000);
    const bytes = async (kind: keyof typeof KINDS) =>
      row({
        what: `Redis, finished with ${kind}`,
        unit: 'bytes/job',
        ours: await once(() => bytesAfter(true, jobs, kind)),
        beside: await once(() => bytesAfter(false, jobs, kind)),
        besideName: 'without',
      });
    return [
      ...(await withAndWithout(KEPT, NOT_KEPT, settings)),
      await bytes('neither key nor result'),
      await bytes('a key'),
      await bytes('both'),
    ];
  },
};

/** Bytes in Redis per job that is done, with the record that each has for a while. */
export const bytesAfter = apart(
  import.meta.url,
  'bytesAfter',
  async (isKept: boolean, jobs: number, kind: keyof typeof KINDS) => {
    const [hasKey, hasResult] = KINDS[kind];
    const servers = await Servers.start(PRODUCTS[KEPT].nodes);
    try {
      const { beanstalks, redis } = servers;
      const keepDone = isKept && { max: jobs };
      const client = await connectNestDq({ beanstalks, redis, keepDone });
      const before = await memoryOf(servers);
      let done = 0;
      await client.consume(
        QUEUE,
        () => {
          done++;
          return hasResult ? RESULT : undefined;
        },
        CONCURRENCY,
      );
      let number = 100_000;
      await inFlight(payloads(jobs), (payload) =>
        hasKey ? client.delay(QUEUE, payload, 0, `order-${number++}`) : client.now(QUEUE, payload),
      );
      await eventually('all are done', () => done === jobs, PATIENCE_MS);
      await pause(AFTERMATH_MS);
      const after = await memoryOf(servers);
      await client.close();
      return (after.redis - before.redis) / jobs;
    } finally {
      await servers.stop();
    }
  },
);
