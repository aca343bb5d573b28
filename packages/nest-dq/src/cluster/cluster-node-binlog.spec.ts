import { describe, expect, it } from '@jest/globals';
import type { DeleteResult } from './cluster-node.js';
import { setup, setupUp } from '../../spec-support/cluster-node-setup.js';

describe('ClusterNode: a binlog that stopped', () => {
  const STOPPED = expect.stringContaining('its binlog has stopped');

  /** A server with a log of five records, known to the node. */
  async function withLog() {
    const all = setup();
    const { clock, server, node } = all;
    const count = (puts: number, jobs: number, records: number) =>
      Object.assign(server.counters, {
        'total-jobs': puts,
        'current-jobs-delayed': jobs,
        'binlog-current-index': 1,
        'binlog-records-written': records,
      });
    count(5, 5, 5);
    node.start();
    await clock.advance(0);
    const remove = () =>
      new Promise<DeleteResult>((resolve) => {
        const place = { endpoint: 'n1:11300', instance: server.instance, copyId: '5' };
        node.delete(place, () => true, resolve);
      });
    const stop = async () => {
      count(9, 9, 5);
      await clock.advance(500);
      expect(node.logStopped).toBe(true);
    };
    return { ...all, count, remove, stop };
  }

  it('is noticed at the next ping, reported once, and stops writes to the node although it is up', async () => {
    const { clock, count, node, told, put, results, server } = await withLog();
    count(9, 9, 9);
    await clock.advance(500);
    expect([node.writable, node.logStopped]).toEqual([true, false]);
    count(12, 12, 9);
    await clock.advance(500);
    expect([node.up, node.writable, node.logStopped]).toEqual([true, false, true]);
    count(15, 15, 9);
    await clock.advance(60_000);
    expect(node.writable).toBe(false);
    expect(told).toEqual(['up', STOPPED]);
    put();
    await clock.advance(0);
    expect(results.map(({ failure }) => failure)).toEqual([{ reason: STOPPED }]);
    expect(server.words).toEqual([]);
  });

  it('is over when the server restarted, and when records are written again', async () => {
    const { clock, count, node, server, told, stop, put, results } = await withLog();
    await stop();
    server.cut();
    await clock.advance(1_000);
    expect([node.up, node.writable]).toEqual([true, false]); // the same process
    server.instance = 'scripted00000002';
    count(0, 9, 0);
    server.cut();
    await clock.advance(1_000);
    expect([node.up, node.writable, node.logStopped]).toEqual([true, true, false]);
    count(1, 9, 0);
    await clock.advance(500);
    expect(node.logStopped).toBe(true);
    count(2, 10, 1);
    await clock.advance(500);
    expect([node.writable, node.logStopped]).toEqual([true, false]);
    expect(told.filter((line) => line.includes('binlog'))).toEqual([STOPPED, STOPPED]);
    put();
    await clock.advance(0);
    expect(results[0]!.failure).toBeUndefined();
  });

  it('is assumed after BURIED: no later INSERTED is a copy, until the log advances', async () => {
    const { clock, count, node, server, told, put, results } = await withLog();
    server.answers['put'] = () => {
      server.answers['put'] = () => 'INSERTED 8';
      return 'BURIED 7';
    };
    server.answers['delete'] = () => 'DELETED';
    put();
    put();
    await clock.advance(0);
    expect(results.map(({ failure }) => failure)).toEqual([
      { reason: 'BURIED', doubtful: `n1:11300#${server.instance}:?` },
      { reason: STOPPED },
    ]);
    expect(server.arrived.filter(({ line }) => line.startsWith('delete')).map(({ line }) => line)).toEqual([
      'delete 8', // never 7: beanstalkd has it in two places, and would crash
    ]);
    expect(told).toEqual(['up', expect.stringContaining('BURIED'), STOPPED]);
    count(7, 6, 6); // the record that failed is counted
    await clock.advance(10_000);
    expect([node.writable, node.logStopped]).toEqual([false, true]);
    count(7, 5, 7);
    await clock.advance(500);
    expect([node.writable, node.logStopped]).toEqual([true, false]);
  });

  it('leaves a place in doubt where an INSERTED that does not count could not be deleted', async () => {
    const { clock, server, put, results } = await withLog();
    server.answers['put'] = () => {
      server.answers['put'] = () => 'INSERTED 8';
      return 'BURIED 7';
    };
    server.answers['delete'] = () => 'NOT_FOUND';
    put();
    put();
    await clock.advance(0);
    expect(results[1]!.failure!.doubtful).toBe(`n1:11300#${server.instance}:8`);
  });

  it('makes no deletion certain', async () => {
    const { clock, remove, stop, server } = await withLog();
    server.answers['delete'] = () => 'DELETED';
    const before = remove();
    await clock.advance(0);
    expect(await before).toBe('deleted');
    await stop();
    const after = remove();
    await clock.advance(0);
    expect(await after).toBe('away');
    expect(server.words).toEqual(['delete', 'delete']);
  });

  it('is assumed when a deletion could not be logged', async () => {
    const { clock, remove, node, server } = await withLog();
    server.answers['delete'] = () => 'INTERNAL_ERROR';
    const removed = remove();
    await clock.advance(0);
    expect(await removed).toBe('away');
    expect([node.up, node.writable, node.logStopped]).toEqual([true, false, true]);
  });

  it('leaves lanes and deletions going', async () => {
    const { node, stop } = await withLog();
    await stop();
    const lane = node.connectLane(() => undefined);
    expect(lane).toBeDefined();
    lane!.close();
  });
});

describe('ClusterNode: kick', () => {
  it('makes a copy ready that a release left buried, where there is no log', async () => {
    const { clock, server, node } = await setupUp();
    node.kickJob('7');
    await clock.advance(0);
    expect(server.words).toEqual(['kick-job']);
  });

  it('leaves it to a server with a log, which kept its delay and would be corrupted', async () => {
    const { clock, server, node } = setup();
    server.counters['binlog-current-index'] = 1;
    node.start();
    await clock.advance(0);
    node.kickJob('7');
    await clock.advance(0);
    expect([node.up, server.words]).toEqual([true, []]);
  });
});
