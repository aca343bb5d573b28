import { beforeEach, describe, expect, it } from '@jest/globals';
import { BeanstalkError } from '../beanstalk/codec/beanstalk-error.js';
import { VirtualClock } from 'nest-handlers/testing';
import { LaneHealth } from './store-health.js';

const SILENT = new BeanstalkError('DEADLINE', 'no reply to `watch a` within 500 ms');

describe('LaneHealth', () => {
  let clock: VirtualClock;
  let health: LaneHealth;
  let troubles: string[];

  beforeEach(() => {
    clock = new VirtualClock();
    troubles = [];
    health = new LaneHealth(clock, (message) => troubles.push(message));
  });

  const refuse = (tube: string, times: number, error = SILENT) => {
    for (let i = 0; i < times; i++) health.refused(tube, error);
  };

  it('does not report a single failed try, since the node may just have gone away', () => {
    refuse('a', 1);
    health.forget();
    refuse('a', 1);
    health.done('a');
    refuse('a', 1);
    expect([health.problem, troubles]).toEqual([undefined, []]);
  });

  it('names the tube, the reason, and what to do', () => {
    refuse('a', 2);
    expect(health.problem).toBe(
      'cannot open a connection to reserve from tube a (DEADLINE: no reply to `watch a` within 500 ms)',
    );
    expect(troubles).toEqual([
      `${health.problem}, so jobs run late, from other nodes, or not at all; the node is probably at its open file limit: raise it (ulimit -n, or LimitNOFILE in a systemd unit)`,
    ]);
  });

  it('distinguishes the limit of this process from that of the node', () => {
    refuse('a', 2, new BeanstalkError('CONNECTION_LOST', 'connect EMFILE 10.0.0.1:11300'));
    expect(troubles).toEqual([expect.stringContaining('this process is at its open file limit: raise it')]);
  });

  it('recognizes a node that has no memory for it', () => {
    refuse('a', 2, new BeanstalkError('OUT_OF_MEMORY', 'no'));
    expect(troubles).toEqual([expect.stringContaining('the node needs more memory')]);
  });

  it('reports many tubes in one message, once a minute while it lasts', async () => {
    for (let i = 0; i < 20; i++) refuse(`t${i}`, 1);
    for (let i = 0; i < 20; i++) refuse(`t${i}`, 30);
    expect(troubles).toHaveLength(1);
    await clock.advance(60_000);
    refuse('t3', 1);
    refuse('t4', 1);
    expect(troubles).toHaveLength(2);
    expect(troubles[1]).toMatch(
      /^cannot open a connection to reserve from 20 tubes: t0, t1, t2, t3, t4, … \(DEADLINE/,
    );
  });

  it('is healthy again once each tube has its connection, or wants none', () => {
    refuse('a', 2);
    refuse('b', 2);
    health.done('a');
    expect(health.problem).toContain('tube b');
    health.done('b');
    expect(health.problem).toBeUndefined();
  });
});
