import { randomBytes } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { CollectingLogger } from '../../spec-support/collecting-logger.js';
import { HANDLING } from '../../spec-support/handling.js';
import { embedded } from '../../spec-support/producing.js';
import type { StoredTube } from '../api/tube.js';
import { Seal } from '../seal/seal.js';
import { DEFAULT_LOG_LEVELS } from '../nest/log-levels.js';
import { LogReport } from '../nest/log-report.js';
import { ClusterConsumer } from './consumer.js';

const TUBE = 'order.cancel' as StoredTube;
const [OLD, NEW] = [randomBytes(32), randomBytes(32)];

const sealWith = (keys: Record<string, Buffer>, current: string) =>
  new Seal(
    { encrypt: true, acceptsUnsealed: false, unsealed: new Set() },
    { keys: new Map(Object.entries(keys)), current },
  );

/** A cluster of three nodes with a consumer. */
async function consuming() {
  const world = await embedded(3);
  const { clock, cluster, parts } = world;
  const sealed = (seal: Seal) => Object.assign(cluster.settings, { seal });
  const logger = new CollectingLogger();
  const report = new LogReport(logger, DEFAULT_LOG_LEVELS, clock);
  const consumer = new ClusterConsumer(HANDLING, { ...parts, report });
  consumer.start();
  const ran: unknown[] = [];
  const refused = parts.events.collect('badSeal');
  await consumer.consume(TUBE, (payload) => void ran.push(payload));
  await clock.advance(1_000);
  const { producer, after } = world;
  return { clock, producer, after, sealed, logger, ran, refused };
}

it('a copy whose key this process does not have is handed back, and runs where the key is', async () => {
  const { clock, producer, after, sealed, logger, ran, refused } = await consuming();

  sealed(sealWith({ old: OLD, new: NEW }, 'new'));
  await after(20, producer.delay(TUBE, 'sealed with the new key', '10s'));
  sealed(sealWith({ old: OLD }, 'old'));
  await clock.advance(20_000);
  expect(ran).toEqual([]);
  expect(refused).toHaveLength(3);
  expect(refused[0]).toMatchObject({ tube: TUBE, buried: false, reason: expect.stringContaining('no key') });
  expect(logger.lines.map(({ message }) => message).join('\n')).toMatch(
    /will be retried in 30 s by any process that has the key/,
  );

  sealed(sealWith({ old: OLD, new: NEW }, 'new'));
  await clock.advance(31_000);
  expect(ran).toEqual(['sealed with the new key']);
});

it('a copy whose key is being fetched runs within a second of the answer, and nothing is logged', async () => {
  const { clock, producer, after, sealed, logger, ran, refused } = await consuming();
  sealed(sealWith({ old: OLD, new: NEW }, 'new'));
  await after(20, producer.delay(TUBE, 'sealed with the new key', '10s'));
  const seal = sealWith({ old: OLD }, 'old');
  sealed(seal);
  const both = {
    keys: new Map([
      ['old', OLD],
      ['new', NEW],
    ]),
    current: 'old',
  };
  let asked = 0;
  seal.askForKeys = () => {
    if (++asked === 1) clock.after(3_000, () => seal.use(both));
    return true;
  };
  await clock.advance(11_500);
  expect([asked > 1, ran]).toEqual([true, []]);
  await clock.advance(2_500);
  expect(ran).toEqual(['sealed with the new key']);
  expect(refused).toEqual([]);
  expect(logger.lines).toEqual([]);
});
