import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { InProcessNode } from '../embedded/in-process-node.js';
import { ScriptedNode } from '../../spec-support/scripted-node.js';
import { VirtualClock } from '../test-kit/virtual-clock.js';
import type { Timer } from '../time/clock.js';
import { ClusterNode, type DeleteResult, type PutFailure } from './cluster-node.js';
import { parseLocation } from '../copies/location.js';

/** Knows which timers it still has to call. */
class CountingClock extends VirtualClock {
  readonly timers = new Set<object>();

  override after(delay: number, callback: () => void): Timer {
    const mark = {};
    this.timers.add(mark);
    const timer = super.after(delay, () => {
      this.timers.delete(mark);
      callback();
    });
    return {
      cancel: () => {
        this.timers.delete(mark);
        timer.cancel();
      },
    };
  }
}

interface PutResult {
  readonly failure?: PutFailure;
  readonly location: string;
  readonly at: number;
}

function setup() {
  const clock = new CountingClock();
  const server = new ScriptedNode(clock);
  const node = new ClusterNode('n1:11300', server.dial, clock);
  const told: string[] = [];
  const listener = {
    up: () => told.push('up'),
    down: (_: ClusterNode, error: Error) => told.push(error.message),
    trouble: (_: ClusterNode, message: string) => told.push(message),
  };
  const stop = node.listen(listener);
  const results: PutResult[] = [];
  const put = (text = 'body') =>
    node.put({
      tube: 't',
      body: [text],
      options: { priority: 1, delay: 0, ttr: 60 },
      done: (failure, location) => results.push({ failure, location, at: clock.now() }),
    });
  return { clock, server, node, told, stop, put, results };
}

async function setupUp() {
  const all = setup();
  all.node.start();
  await all.clock.advance(0);
  expect(all.node.up).toBe(true);
  return all;
}

afterEach(() => {
  jest.restoreAllMocks();
});

describe('ClusterNode: connecting', () => {
  it('dials when it is started or first needed, once', async () => {
    const { clock, server, node, told } = setup();
    await clock.advance(60_000);
    expect(server.dials).toEqual([]);
    expect(node.up).toBe(false);
    expect(node.writable).toBe(true);
    node.start();
    node.start();
    await clock.advance(0);
    expect(server.dials).toHaveLength(1);
    expect(told).toEqual(['up']);
    expect(node).toMatchObject({ up: true, writable: true, instance: server.instance, reason: 'up' });
  });

  it('knows the limit of a body once the server told it', async () => {
    const { clock, server, node } = setup();
    expect(node.maxJobSize).toBe(Infinity);
    server.answers['stats'] = () => server.ok('id: x\nmax-job-size: 1000');
    node.start();
    await clock.advance(0);
    expect(node.maxJobSize).toBe(1_000);
  });

  it('is not up before the server answers, and gives it 5 s for its binlog', async () => {
    const { clock, server, node, told, put, results } = setup();
    server.freeze();
    node.start();
    put();
    await clock.advance(499);
    expect(results).toEqual([]);
    await clock.advance(1);
    expect(results).toHaveLength(1);
    expect(results[0]!.failure!.doubtful).toBeUndefined();
    expect([node.up, node.writable]).toEqual([false, false]);
    await clock.advance(4_499);
    expect([server.dials.length, told.length]).toEqual([1, 0]);
    await clock.advance(1);
    expect(told).toHaveLength(1);
    expect(server.connections).toBe(0);
    server.thaw();
    await clock.advance(50);
    expect([server.dials.length, node.up, node.writable]).toEqual([2, true, true]);
  });

  it('comes up late, where the binlog was read in time', async () => {
    const { clock, server, node, told } = setup();
    server.freeze();
    node.start();
    await clock.advance(4_900);
    expect([node.up, told, server.connections]).toEqual([false, [], 1]);
    server.thaw();
    await clock.advance(0);
    expect([node.up, told, server.dials.length]).toEqual([true, ['up'], 1]);
  });

  it('tells once that it is down, however often it tries, and once that it is up again', async () => {
    const { clock, server, node, told } = setup();
    server.refusing = true;
    node.start();
    await clock.advance(30_000);
    expect(told).toEqual([expect.stringContaining('ECONNREFUSED')]);
    expect(node.reason).toContain('ECONNREFUSED');
    expect(node.writable).toBe(false);
    server.refusing = false;
    await clock.advance(2_000);
    expect(told.slice(1)).toEqual(['up']);
    server.refusing = true;
    server.cut();
    await clock.advance(30_000);
    expect(told.slice(2)).toEqual([expect.stringContaining('CONNECTION_LOST')]);
  });

  it('tells nobody who stopped listening', async () => {
    const { clock, node, told, stop } = setup();
    stop();
    node.start();
    await clock.advance(0);
    expect([node.up, told]).toEqual([true, []]);
  });

  it.each([
    [0, [25, 50, 100, 200, 400, 800, 1_000, 1_000]],
    [1, [50, 100, 200, 400, 800, 1_600, 2_000, 2_000]],
  ])('tries again after growing pauses, of which chance (%d) takes up to half', async (chance, pauses) => {
    const { clock, server, node } = setup();
    jest.spyOn(Math, 'random').mockReturnValue(chance);
    server.refusing = true;
    node.start();
    await clock.advance(10_000);
    const between = server.dials.slice(1).map((at, i) => at - server.dials[i]!);
    expect(between.slice(0, pauses.length)).toEqual(pauses);
  });

  it('begins with short pauses again once it was up', async () => {
    const { clock, server, node } = setup();
    jest.spyOn(Math, 'random').mockReturnValue(1);
    server.refusing = true;
    node.start();
    await clock.advance(10_000);
    server.refusing = false;
    await clock.advance(2_000);
    expect(node.up).toBe(true);
    server.cut();
    await clock.advance(0);
    const dials = server.dials.length;
    await clock.advance(50);
    expect(server.dials.length).toBe(dials + 1);
  });

  it('is not dialled by many puts more often than every 50 ms', async () => {
    const { clock, server, put, results } = setup();
    server.refusing = true;
    for (let ms = 0; ms < 1_000; ms++) {
      put();
      await clock.advance(1);
    }
    await clock.advance(500);
    expect(results).toHaveLength(1_000);
    const between = server.dials.slice(1).map((at, i) => at - server.dials[i]!);
    expect(Math.min(...between)).toBeGreaterThanOrEqual(25); // the first retry, with its chance
    expect(server.dials.length).toBeLessThan(45);
  });
});

describe('ClusterNode: health', () => {
  it.each([0, 1, 250, 499])(
    'finds within a second that the server is frozen, %d ms after it was up',
    async (ms) => {
      const { clock, server, node, told } = await setupUp();
      await clock.advance(3_000 + ms);
      server.freeze();
      await clock.advance(1_000);
      expect([node.up, node.writable]).toEqual([false, false]);
      expect(told).toEqual(['up', expect.stringContaining('no reply')]);
      await clock.advance(20_000);
      expect(told).toHaveLength(2);
      server.thaw();
      await clock.advance(8_000);
      expect(told.slice(2)).toEqual(['up']);
    },
  );

  it('goes on pinging a server that answers with an error', async () => {
    const { clock, server, node } = await setupUp();
    server.answers['stats'] = () => 'OUT_OF_MEMORY';
    await clock.advance(2_000);
    expect(node.up).toBe(true);
    server.freeze();
    await clock.advance(1_000);
    expect(node.up).toBe(false);
  });
});

describe('ClusterNode: put', () => {
  it('tells where the copy is', async () => {
    const { server, put, results, clock } = await setupUp();
    put();
    await clock.advance(0);
    expect(results).toEqual([{ failure: undefined, location: `n1:11300#${server.instance}:1`, at: 0 }]);
    expect(server.arrived.at(-1)).toMatchObject({ line: 'put 1 0 60 4', body: Buffer.from('body') });
  });

  it('makes the copy when the node is there, not when it is asked', async () => {
    const { clock, server, node } = setup();
    const made: string[] = [];
    node.put({
      tube: 't',
      get body() {
        made.push('body');
        return ['x'];
      },
      get options() {
        made.push('options');
        return { priority: 7, delay: 8, ttr: 9 };
      },
      done: () => made.push('done'),
    });
    expect(made).toEqual([]);
    await clock.advance(0);
    await clock.advance(0);
    expect(made.sort()).toEqual(['body', 'done', 'options']);
    expect(server.arrived.at(-1)!.line).toBe('put 7 8 9 1');
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

  it('is doubtful when no answer came', async () => {
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

  it('is doubtful when the connection is lost on the way', async () => {
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
      'has no room for it after %s, until somebody has put a job',
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

    it('has room for it after a restart, and where it only takes no more puts', async () => {
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

  it('tells a refusal when it begins, and when it begins again', async () => {
    const { clock, server, put, told } = await setupUp();
    server.answers['put'] = () => 'OUT_OF_MEMORY';
    put();
    put();
    await clock.advance(4_999);
    put();
    await clock.advance(4_999);
    expect(told).toEqual(['up', expect.stringContaining('refuses to store (OUT_OF_MEMORY)')]);
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

  it('is seen at the next ping, told once, and puts the node out of writing though it is up', async () => {
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

  it('is assumed after BURIED: no INSERTED behind it is a copy, until the log advances', async () => {
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

describe('ClusterNode: delete', () => {
  /** A server of one process life, with one copy in it. */
  async function withCopy(text = 'mine') {
    const clock = new VirtualClock();
    let server = new InProcessNode(clock);
    const node = new ClusterNode('n1:11300', () => server.dial(), clock);
    node.start();
    await clock.advance(0);
    const store = (body: string) =>
      new Promise<string>((resolve) => {
        node.put({
          tube: 't',
          body: [body],
          options: { priority: 1, delay: 100, ttr: 60 },
          done: (_failure, location) => resolve(location),
        });
      });
    const location = await store(text);
    const remove = (place = location) =>
      new Promise<DeleteResult>((resolve) => {
        node.delete(parseLocation(place)!, (body) => body.toString() === 'mine', resolve);
      });
    /** Comes back empty, and counts its copies from 1 again. */
    const restart = async () => {
      const first = node.instance;
      server.close();
      server = new InProcessNode(clock);
      await clock.advance(3_000);
      expect(node.instance).not.toBe(first);
    };
    return { clock, node, store, location, remove, restart };
  }

  it('deletes the copy, once', async () => {
    const { remove } = await withCopy();
    expect(await remove()).toBe('deleted');
    expect(await remove()).toBe('missing');
  });

  it('does not ask the server of the location what the copy is', async () => {
    const { remove } = await withCopy('what isSame would refuse');
    expect(await remove()).toBe('deleted');
  });

  it('finds it missing while somebody has it reserved', async () => {
    const { clock, node, location, remove } = await withCopy();
    const lane = node.connectLane(() => undefined)!;
    await lane.ask((done) => lane.reserveJob(parseLocation(location)!.copyId, done));
    expect(await remove()).toBe('missing');
    lane.close();
    await clock.advance(0);
    expect(await remove()).toBe('deleted');
  });

  it('never deletes the innocent job that has the id now', async () => {
    const { store, location, remove, restart } = await withCopy();
    await restart();
    const other = await store('innocent');
    expect(parseLocation(other)!.copyId).toBe(parseLocation(location)!.copyId);
    expect(await remove()).toBe('missing');
    expect(await remove(other)).toBe('deleted'); // so it was there
  });

  it('deletes the copy where a restarted server still has it', async () => {
    const { store, location, remove, restart } = await withCopy();
    await restart();
    const again = await store('mine');
    expect(parseLocation(again)!.copyId).toBe(parseLocation(location)!.copyId);
    expect(await remove(location)).toBe('deleted');
    expect(await remove(again)).toBe('missing');
  });

  it('takes a server that does not tell its instance for another one each time', async () => {
    const { clock, server, node, put, results } = setup();
    server.answers['stats'] = () => server.ok('max-job-size: 65535');
    server.answers['peek'] = ({ line }) => `FOUND ${line.slice(5)} 8\r\ninnocent`;
    put();
    await clock.advance(0);
    await clock.advance(0);
    const { location } = results[0]!;
    server.cut();
    await clock.advance(100);
    expect(node.up).toBe(true);
    const answers: DeleteResult[] = [];
    node.delete(
      parseLocation(location)!,
      () => false,
      (result) => answers.push(result),
    );
    await clock.advance(0);
    expect(answers).toEqual(['missing']);
    expect(server.words).toEqual(['put', 'peek']);
  });

  it('waits for the first connection', async () => {
    const { clock, server, node } = setup();
    server.answers['delete'] = () => 'DELETED';
    const answers: DeleteResult[] = [];
    const place = { endpoint: 'n1:11300', instance: server.instance, copyId: '5' };
    node.delete(
      place,
      () => true,
      (result) => answers.push(result),
    );
    await clock.advance(0);
    await clock.advance(0);
    expect(answers).toEqual(['deleted']);
  });

  it('is away, at once, where nobody knows the id or the node is known to be down', async () => {
    const { clock, server, node } = await setupUp();
    const answers: DeleteResult[] = [];
    const place = { endpoint: 'n1:11300', instance: server.instance, copyId: '5' };
    node.delete(
      { ...place, copyId: '?' },
      () => true,
      (result) => answers.push(result),
    );
    expect(answers).toEqual(['away']);
    server.refusing = true;
    server.cut();
    await clock.advance(0);
    node.delete(
      place,
      () => true,
      (result) => answers.push(result),
    );
    expect(answers).toEqual(['away', 'away']);
    expect(server.words).toEqual([]);
  });

  it('is away when no answer comes', async () => {
    const { clock, server, node } = await setupUp();
    const answers: DeleteResult[] = [];
    const place = { endpoint: 'n1:11300', instance: server.instance, copyId: '5' };
    node.delete(
      place,
      () => true,
      (result) => answers.push(result),
    );
    node.delete(
      { ...place, instance: 'other' },
      () => true,
      (result) => answers.push(result),
    );
    await clock.advance(500);
    expect(answers).toEqual(['away', 'away']);
  });
});

describe('ClusterNode: lanes', () => {
  it('are opened only while it is up, with the limit of its bodies', async () => {
    const { clock, server, node } = setup();
    expect(node.connectLane(() => undefined)).toBeUndefined();
    server.answers['stats'] = () => server.ok('id: x\nmax-job-size: 1000');
    node.start();
    await clock.advance(0);
    const lane = node.connectLane(() => undefined)!;
    expect(lane.maxJobSize).toBe(1_000);
    expect(server.connections).toBe(2);
    lane.close();
  });
});

describe('ClusterNode: close', () => {
  it('leaves no timer and no connection while it is still connecting', async () => {
    const { clock, server, node, put, results, told } = setup();
    server.freeze();
    node.start();
    put();
    await clock.advance(10);
    expect(server.connections).toBe(1);
    node.close();
    expect(clock.timers.size).toBe(0);
    expect(results).toHaveLength(1);
    await clock.advance(60_000);
    expect([server.connections, server.dials.length, told]).toEqual([0, 1, []]);
  });

  it('leaves none while it is up, nor between two tries', async () => {
    for (const refusing of [true, false]) {
      const { clock, server, node } = setup();
      server.refusing = refusing;
      node.start();
      await clock.advance(0);
      expect(node.up).toBe(!refusing);
      node.close();
      node.close();
      expect(clock.timers.size).toBe(0);
      await clock.advance(60_000);
      expect([server.connections, server.dials.length, node.up]).toEqual([0, 1, false]);
    }
  });

  it('fails what comes later, at once', async () => {
    const { clock, server, node, put, results } = await setupUp();
    node.close();
    put();
    node.start();
    await clock.advance(0);
    expect(results).toHaveLength(1);
    expect(results[0]!.failure!.doubtful).toBeUndefined();
    expect(server.dials).toHaveLength(1);
  });
});
