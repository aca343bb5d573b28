import { describe, expect, it } from '@jest/globals';
import { VirtualClock } from 'nest-handlers/testing';
import { setup, setupUp } from '../../spec-support/cluster-node-setup.js';

describe('ClusterNode: put', () => {
  it('returns where the copy is', async () => {
    const { server, put, results, clock } = await setupUp();
    put();
    await clock.advance(0);
    expect(results).toEqual([{ failure: undefined, location: `n1:11300#${server.instance}:1`, at: 0 }]);
    expect(server.arrived.at(-1)).toMatchObject({ line: 'put 1 0 60 4', body: Buffer.from('body') });
  });

  it('reads the delay when the node is there, not when it is asked', async () => {
    const { clock, server, node } = setup();
    const told: string[] = [];
    const delay = () => {
      told.push('delay');
      return 8;
    };
    node.put({ tube: 't', body: ['x'], priority: 7, delay, done: () => told.push('done') });
    expect(told).toEqual([]);
    await clock.advance(0);
    await clock.advance(0);
    expect(told).toEqual(['delay', 'done']);
    expect(server.arrived.at(-1)!.line).toBe('put 7 8 60 1');
  });

  it('fails at once where the server takes no connections', async () => {
    const { clock, server, put, results } = setup();
    server.refusing = true;
    put();
    await clock.advance(0);
    expect(results).toEqual([
      { failure: { reason: expect.stringContaining('ECONNREFUSED') }, location: '', at: 0 },
    ]);
  });

  it('is indeterminate when no answer came', async () => {
    const { clock, server, put, results } = await setupUp();
    server.answers['put'] = () => undefined;
    put();
    await clock.advance(500);
    expect(results).toEqual([
      {
        failure: { reason: expect.stringContaining('no reply'), doubtful: `n1:11300#${server.instance}:?` },
        location: '',
        at: 500,
      },
    ]);
  });

  it('is indeterminate when the connection is lost on the way', async () => {
    const { clock, server, put, results } = await setupUp();
    server.answers['put'] = () => {
      server.cut();
      return undefined;
    };
    put();
    await clock.advance(0);
    expect(results[0]!.failure!.doubtful).toBe(`n1:11300#${server.instance}:?`);
  });

  it.each(['DRAINING', 'OUT_OF_MEMORY', 'INTERNAL_ERROR'])('takes %s for a refusal of 5 s', async (word) => {
    const { clock, server, node, put, results } = await setupUp();
    server.answers['put'] = () => word;
    put();
    await clock.advance(0);
    expect(results[0]!.failure).toEqual({ reason: expect.stringContaining(word) });
    expect([node.up, node.writable]).toEqual([true, false]);
    await clock.advance(4_999);
    expect(node.writable).toBe(false);
    await clock.advance(1);
    expect(node.writable).toBe(true);
  });

  describe('with a log', () => {
    const ping = (clock: VirtualClock) => clock.advance(500);
    const putSoFar = (jobs: number) => ({
      'binlog-current-index': 1,
      'binlog-records-written': jobs,
      'total-jobs': jobs,
      'current-jobs-ready': jobs,
    });

    it.each(['OUT_OF_MEMORY', 'INTERNAL_ERROR'])(
      'has no room for it after %s, until someone has put a job',
      async (word) => {
        const { clock, server, node } = await setupUp();
        Object.assign(server.counters, putSoFar(7));
        await ping(clock);
        expect(node.full).toBe(false);
        node.refused(word);
        expect([node.full, node.writable]).toEqual([true, false]);
        await clock.advance(60_000);
        expect([node.full, node.writable]).toEqual([true, true]); // a put may be tried, as nothing is lost by it
        Object.assign(server.counters, putSoFar(8));
        await ping(clock);
        expect(node.full).toBe(false);
      },
    );

    it('has room for it after a restart, and where it only refuses puts', async () => {
      const { clock, server, node } = await setupUp();
      Object.assign(server.counters, putSoFar(7));
      await ping(clock);
      node.refused('DRAINING');
      expect(node.full).toBe(false);
      node.refused('OUT_OF_MEMORY');
      server.instance = 'another';
      server.cut();
      await clock.advance(1_000);
      expect([node.up, node.full, node.writable]).toEqual([true, false, true]);
    });
  });

  it('has room for no log', async () => {
    const { node } = await setupUp();
    node.refused('OUT_OF_MEMORY');
    expect(node.full).toBe(false);
  });

  it('reports a refusal when it begins, and when it begins again', async () => {
    const { clock, server, put, told } = await setupUp();
    server.answers['put'] = () => 'OUT_OF_MEMORY';
    put();
    put();
    await clock.advance(4_999);
    put();
    await clock.advance(4_999);
    expect(told).toEqual(['up', expect.stringContaining('rejects new jobs (OUT_OF_MEMORY)')]);
    await clock.advance(1);
    put();
    await clock.advance(0);
    expect(told).toHaveLength(3);
  });

  it('forgets a refusal when the server restarted', async () => {
    const { clock, server, node, put } = await setupUp();
    server.answers['put'] = () => 'DRAINING';
    put();
    await clock.advance(0);
    server.instance = 'scripted00000002';
    server.cut();
    await clock.advance(1_000);
    expect([node.up, node.writable]).toEqual([true, true]);
  });

  it.each(['DELETED', 'NOT_FOUND'])(
    'deletes a copy that was BURIED without a log (%s), and takes it for a refusal of 5 s',
    async (answer) => {
      const { clock, server, node, put, results } = await setupUp();
      server.answers['put'] = () => 'BURIED 77';
      server.answers['delete'] = () => answer;
      put();
      await clock.advance(0);
      const location = `n1:11300#${server.instance}:77`;
      expect(results[0]!.failure).toEqual(
        answer === 'DELETED' ? { reason: 'BURIED' } : { reason: 'BURIED', doubtful: location },
      );
      expect([node.writable, node.logStopped]).toEqual([false, false]);
      await clock.advance(5_000);
      expect(node.writable).toBe(true);
    },
  );

  it('blames the body, not the node, where it is too large', async () => {
    const { clock, server, node, put, results } = await setupUp();
    server.answers['put'] = () => 'JOB_TOO_BIG';
    put();
    put('x'.repeat(65_536));
    await clock.advance(0);
    expect(results.map(({ failure }) => failure)).toEqual([
      { reason: expect.stringContaining('65536 bytes') }, // not even sent
      { reason: expect.stringContaining("the server's answer") },
    ]);
    expect(node.writable).toBe(true);
  });
});
