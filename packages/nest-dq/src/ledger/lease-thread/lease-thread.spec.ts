import { beforeEach, describe, expect, it } from '@jest/globals';
import { EventEmitter } from 'node:events';
import { leaseMessage, leaseOf } from '../../../spec-support/lease-messages.js';
import type { LeaseMessage, LeaseWorkerData } from './run-lease.js';
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
    t.over([leaseOf('a')]);
    expect(threads).toEqual([]);
    t.granted([leaseOf('a')]);
    u.granted([leaseOf('b')]);
    expect(threads).toHaveLength(1);
    expect(threads[0]!.data).toEqual({ source, settings, prefix: 'p.' });
    expect(threads[0]!.refs).toBe(0);
    expect(threads[0]!.told).toEqual([
      leaseMessage({ granted: [leaseOf('a')] }),
      leaseMessage({ tube: 'u', granted: [leaseOf('b')] }),
    ]);
  });

  it('reports renewals while there is something to renew', () => {
    const tube = leaseThread.tube('t');
    tube.granted([leaseOf('a')]);
    tube.beat();
    tube.over([leaseOf('a')]);
    tube.beat();
    expect(threads[0]!.told.slice(1)).toEqual([leaseMessage({ beat: true }), leaseMessage({ over: ['a'] })]);
  });

  it('sends ends along with its next message', () => {
    const tube = leaseThread.tube('t');
    tube.granted([leaseOf('a'), leaseOf('b'), leaseOf('c')]);
    tube.over([leaseOf('a')]);
    tube.over([leaseOf('b')]);
    expect(threads[0]!.told).toHaveLength(1);
    tube.granted([leaseOf('d')]);
    tube.over([leaseOf('c')]);
    tube.beat();
    expect(threads[0]!.told.slice(1)).toEqual([
      leaseMessage({ over: ['a', 'b'], granted: [leaseOf('d')] }),
      leaseMessage({ over: ['c'], beat: true }),
    ]);
  });

  it('sends the last end at once, so that the thread has nothing left to look at', () => {
    const tube = leaseThread.tube('t');
    tube.granted([leaseOf('a'), leaseOf('b')]);
    tube.over([leaseOf('b')]);
    tube.over([leaseOf('a')]);
    expect(threads[0]!.told.slice(1)).toEqual([leaseMessage({ over: ['b', 'a'] })]);
  });

  it('sends an end once, and only for runs it has announced', () => {
    const tube = leaseThread.tube('t');
    tube.granted([leaseOf('a', { fence: 5 })]);
    tube.over([leaseOf('a', { fence: 4 })]);
    expect(threads[0]!.told).toHaveLength(1);
    tube.over([leaseOf('a', { fence: 5 })]);
    tube.over([leaseOf('a', { fence: 5 })]);
    expect(threads[0]!.told.slice(1)).toEqual([leaseMessage({ over: ['a'] })]);
  });

  it.each([
    ['fails', (thread: ScriptedThread) => thread.emit('error', new Error('no such file')), 'no such file'],
    ['ends', (thread: ScriptedThread) => thread.emit('exit', 1), 'its thread ended'],
  ])('does without a thread that %s, and warns once', (_how, end, reason) => {
    const tube = leaseThread.tube('t');
    tube.granted([leaseOf('a')]);
    end(threads[0]!);
    threads[0]!.emit('exit', 1);
    tube.granted([leaseOf('b')]);
    tube.beat();
    expect(threads).toHaveLength(1);
    expect(threads[0]!.told).toHaveLength(1);
    expect(warnings).toEqual([
      `leases of running jobs are not renewed while the event loop is blocked: ${reason}`,
    ]);
  });

  it.each([
    [
      'no thread may be started',
      () => ({ from: () => source, start: refuse('not permitted') }),
      'not permitted',
    ],
    [
      'the Redis address cannot be passed to a thread',
      () => ({
        from: refuse('`natMap` is a function'),
        start: (data: LeaseWorkerData) => new ScriptedThread(data),
      }),
      '`natMap` is a function',
    ],
  ])('continues where %s, and warns once', (_why, make, reason) => {
    const { start, from } = make();
    const tube = leaseThreadOf(start, from).tube('t');
    tube.granted([leaseOf('a')]);
    tube.granted([leaseOf('b')]);
    expect(warnings).toEqual([expect.stringContaining(reason)]);
  });

  it('ends the thread when it is closed, once, and says nothing more', async () => {
    const tube = leaseThread.tube('t');
    tube.granted([leaseOf('a')]);
    await Promise.all([leaseThread.close(), leaseThread.close()]);
    tube.granted([leaseOf('b')]);
    expect(threads[0]!.terminated).toBe(1);
    expect(threads[0]!.told).toHaveLength(1);
    expect(warnings).toEqual([]);
  });

  it('starts nothing once it is closed', async () => {
    await leaseThread.close();
    leaseThread.tube('t').granted([leaseOf('a')]);
    expect(threads).toEqual([]);
  });
});

function refuse(why: string): () => never {
  return () => {
    throw new TypeError(why);
  };
}
