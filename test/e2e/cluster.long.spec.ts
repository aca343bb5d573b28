import { describe, expect, it } from '@jest/globals';
import { eventually } from 'test-servers';
import { expectOnceEach, isEmpty, record, schedule, type Start } from '../support/jobs.js';
import { clusterSuite } from '../support/suite.js';

const suite = clusterSuite();
let tubes = 0;

describe('a cluster of three nodes and a Redis', () => {
  it('runs each of 1,500 jobs once, not early, and from its primary copy', async () => {
    const starts: Start[] = [];
    const one = suite.start({ advanced: { backupDelay: 60_000 } });
    const tube = `t${tubes++}`;
    const receipts = await schedule(one, tube, 1_500, (i) => Date.now() + 1_000 + i);
    expect(receipts.filter(({ copies }) => copies !== 3)).toEqual([]);
    await record(one, tube, starts);
    await eventually('all ran', () => starts.length >= receipts.length);
    expectOnceEach(starts, receipts);
    expect(starts.filter(({ copy }) => copy !== 0)).toEqual([]);
    await eventually('no copy is left', () => isEmpty(one, tube));
  }, 60_000);

  it('loses nothing, and runs nothing twice, when a node is killed before the jobs are due', async () => {
    const starts: Start[] = [];
    const one = suite.start();
    const two = suite.start();
    const tube = `t${tubes++}`;
    await record(one, tube, starts);
    await record(two, tube, starts);
    const receipts = await schedule(one, tube, 1_500, (i) => Date.now() + 1_500 + i);
    await suite.servers.beanstalkds[0]!.kill();
    try {
      await eventually('all ran', () => starts.length >= receipts.length);
      expectOnceEach(starts, receipts);
      expect(starts.some(({ copy }) => copy > 0)).toBe(true);
    } finally {
      await suite.servers.beanstalkds[0]!.restart();
    }
    await eventually('the node that was away is emptied', () => isEmpty(one, tube));
    expectOnceEach(starts, receipts);
  }, 60_000);

  it('never starts a job that was revoked, wherever its copies are', async () => {
    const starts: Start[] = [];
    const one = suite.start();
    const tube = `t${tubes++}`;
    await record(one, tube, starts);
    const receipts = await schedule(one, tube, 200, (i) => Date.now() + 1_500 + i);
    await suite.servers.beanstalkds[1]!.kill();
    const revoked = receipts.filter((_, i) => i % 2 === 0);
    const answers = await Promise.all(revoked.map(({ ref }) => one.producer.revoke(ref)));
    expect(answers).toContain('revoked');
    await suite.servers.beanstalkds[1]!.restart();
    const kept = receipts.filter((receipt) => answers[revoked.indexOf(receipt)] !== 'revoked');
    await eventually('the others ran', () => starts.length >= kept.length);
    await eventually('no copy is left', () => isEmpty(one, tube));
    expectOnceEach(starts, kept);
  }, 60_000);

  it('knows one record for each job, by whatever prefix its tube is reached', async () => {
    const starts: Start[] = [];
    const [plain, prefixed] = [suite.start(), suite.start({ prefix: 'shop.' })];
    await record(plain, 'shop.orders', starts);
    await record(prefixed, 'orders', starts);
    const receipts = await schedule(plain, 'shop.orders', 200, (i) => Date.now() + 500 + i);
    const late = await prefixed.producer.delay('orders', 'late', '1h');
    expect(late.tube).toBe('orders');
    await eventually('all ran', () => starts.length >= receipts.length);
    await expect(plain.producer.revoke(late)).resolves.toBe('revoked');
    await expect(prefixed.producer.revoke(receipts[0]!)).resolves.toBe('done');
    await eventually('no copy is left', () => isEmpty(plain, 'shop.orders'));
    expectOnceEach(starts, receipts);
  }, 60_000);
});
