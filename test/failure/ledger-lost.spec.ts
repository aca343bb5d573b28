import { describe, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { eventually } from 'test-servers';
import { expectOnceEach, isEmpty, record, schedule, type Start } from '../support/jobs.js';
import { clusterSuite } from '../support/suite.js';

const suite = clusterSuite();

/** No backup surfaces within any test. */
const BACKUP_DELAY = '1h';

async function loseEverything(): Promise<void> {
  const redis = new Redis(suite.servers.redis.url);
  await redis.flushall();
  redis.disconnect();
}

describe('when Redis loses everything', () => {
  it('no copy is left of what has run or was revoked, so none of it runs again; what waits runs once', async () => {
    const system = suite.start({ advanced: { backupDelay: BACKUP_DELAY } });
    const starts: Start[] = [];
    const tube = 'lost';
    await record(system, tube, starts);
    const ran = await schedule(system, tube, 100, () => Date.now());
    const revoked = await schedule(system, tube, 100, () => Date.now() + 3_600_000);
    for (const receipt of revoked) await system.producer.revoke(receipt, { confirmed: true });
    await eventually('all have run', () => starts.length >= ran.length);
    await eventually('no copy is left', () => isEmpty(system, tube));
    const waits = await schedule(system, tube, 20, () => Date.now() + 3_000);
    await loseEverything();
    await eventually('the others ran', () => starts.length >= ran.length + waits.length);
    await eventually('no copy is left of these', () => isEmpty(system, tube));
    expectOnceEach(starts, [...ran, ...waits]);
  });
});
