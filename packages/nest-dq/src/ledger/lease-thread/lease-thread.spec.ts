import { beforeEach, describe, expect, it } from '@jest/globals';
import { EventEmitter } from 'node:events';
import { packIds, packRuns, type LeaseMessage, type LeaseWorkerData, type RunLease } from './run-lease.js';
import { type LeaseWorker, LeaseThread } from './lease-thread.js';

const settings = { lease: 15_000, doneTtl: 600_000, staleAfter: 604_800_000 };
const source = { options: { host: 'redis' } };

class ScriptedThread extends EventEmitter implements LeaseWorker {
  readonly told: LeaseMessage[] = [];
  refs = 1;
  terminated = 0;

  constructor(readonly data: LeaseWorkerData) {
    super();
  }

  postMessage(message: LeaseMessage): void {
    this.told.push(message);
  }

  unref(): void {
    this.refs--;
  }

  async terminate(): Promise<void> {
    this.terminated++;
    this.emit('exit', 1);
  }
}

const run = (id: string, fence = 9): RunLease => ({
  id,
  generation: 0,
  born: 0,
  due: 900,
  fence,
  attempt: 1,
  lastOk: 800,
  timeout: Infinity,
});
type Told = { tube?: string; over?: string[]; granted?: RunLease[]; beat?: boolean };
const message = ({ granted = [], over = [], ...of }: Told): LeaseMessage => ({
  tube: 't',
  over: packIds(over),
  granted: packRuns(granted),
  beat: false,
  ...of,
});

describe('LeaseThread', () => {
  let threads: ScriptedThread[];
  let warnings: string[];
  let leaseThread: LeaseThread;

  beforeEach(() => {
    threads = [];
    warnings = [];
    leaseThread = leaseThreadOf((data) => {
      const thread = new ScriptedThread(data);
      threads.push(thread);
      return thread;
    });
  });

  const leaseThreadOf = (start: (data: LeaseWorkerData) => LeaseWorker, from = () => source) =>
    new LeaseThread({
      start,
      source: from,
      settings,
      prefix: 'p.',
      warn: (warning) => warnings.push(warning),
    });

  it('starts one thread, with the first run of any tube, and lets the process end before it', () => {
    const [t, u] = [leaseThread.tube('t'), leaseThread.tube('u')];
    t.granted([]);
    t.beat();
    t.over([run('a')]);
    expect(threads).toEqual([]);
    t.granted([run('a')]);
    u.granted([run('b')]);
    expect(threads).toHaveLength(1);
    expect(threads[0]!.data).toEqual({ source, settings, prefix: 'p.' });
    expect(threads[0]!.refs).toBe(0);
    expect(threads[0]!.told).toEqual([
      message({ granted: [run('a')] }),
      message({ tube: 'u', granted: [run('b')] }),
    ]);
  });

  it('tells of renewals while there is something to renew', () => {
    const tube = leaseThread.tube('t');
    tube.granted([run('a')]);
    tube.beat();
    tube.over([run('a')]);
    tube.beat();
    expect(threads[0]!.told.slice(1)).toEqual([message({ beat: true }), message({ over: ['a'] })]);
  });

  it('tells of ends with what it tells next', () => {
    const tube = leaseThread.tube('t');
    tube.granted([run('a'), run('b'), run('c')]);
    tube.over([run('a')]);
    tube.over([run('b')]);
    expect(threads[0]!.told).toHaveLength(1);
    tube.granted([run('d')]);
    tube.over([run('c')]);
    tube.beat();
    expect(threads[0]!.told.slice(1)).toEqual([
      message({ over: ['a', 'b'], granted: [run('d')] }),
      message({ over: ['c'], beat: true }),
    ]);
  });

  it('tells of the last end at once, so that the thread has nothing left to look at', () => {
    const tube = leaseThread.tube('t');
    tube.granted([run('a'), run('b')]);
    tube.over([run('b')]);
    tube.over([run('a')]);
    expect(threads[0]!.told.slice(1)).toEqual([message({ over: ['b', 'a'] })]);
  });

  it('tells of an end once, and of none that is not of a run it told of', () => {
    const tube = leaseThread.tube('t');
    tube.granted([run('a', 5)]);
    tube.over([run('a', 4)]);
    expect(threads[0]!.told).toHaveLength(1);
    tube.over([run('a', 5)]);
    tube.over([run('a', 5)]);
    expect(threads[0]!.told.slice(1)).toEqual([message({ over: ['a'] })]);
  });

  it.each([
    ['fails', (thread: ScriptedThread) => thread.emit('error', new Error('no such file')), 'no such file'],
    ['ends', (thread: ScriptedThread) => thread.emit('exit', 1), 'its thread ended'],
  ])('does without a thread that %s, and warns once', (_how, end, reason) => {
    const tube = leaseThread.tube('t');
    tube.granted([run('a')]);
    end(threads[0]!);
    threads[0]!.emit('exit', 1);
    tube.granted([run('b')]);
    tube.beat();
    expect(threads).toHaveLength(1);
    expect(threads[0]!.told).toHaveLength(1);
    expect(warnings).toEqual([
      `while the event loop is blocked, the leases of running jobs are not renewed: ${reason}`,
    ]);
  });

  it.each([
    [
      'no thread may be started',
      () => ({ from: () => source, start: refuse('not permitted') }),
      'not permitted',
    ],
    [
      'a thread cannot be told where Redis is',
      () => ({
        from: refuse('`natMap` is a function'),
        start: (data: LeaseWorkerData) => new ScriptedThread(data),
      }),
      '`natMap` is a function',
    ],
  ])('goes on where %s, and warns once', (_why, make, reason) => {
    const { start, from } = make();
    const tube = leaseThreadOf(start, from).tube('t');
    tube.granted([run('a')]);
    tube.granted([run('b')]);
    expect(warnings).toEqual([expect.stringContaining(reason)]);
  });

  it('ends the thread when it is closed, once, and says nothing more', async () => {
    const tube = leaseThread.tube('t');
    tube.granted([run('a')]);
    await Promise.all([leaseThread.close(), leaseThread.close()]);
    tube.granted([run('b')]);
    expect(threads[0]!.terminated).toBe(1);
    expect(threads[0]!.told).toHaveLength(1);
    expect(warnings).toEqual([]);
  });

  it('starts nothing once it is closed', async () => {
    await leaseThread.close();
    leaseThread.tube('t').granted([run('a')]);
    expect(threads).toEqual([]);
  });
});

function refuse(why: string): () => never {
  return () => {
    throw new TypeError(why);
  };
}
