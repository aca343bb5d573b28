import { describe, expect, it } from '@jest/globals';
import { VirtualClock } from 'nest-handlers/testing';
import { StoreHealth } from './store-health.js';

/** Figures from a server's stats: jobs put, jobs stored, records in its log. */
type Told = readonly [puts: number, jobs: number, records: number];

const statsOf = ([puts, jobs, records]: Told, file = 1) => ({
  'total-jobs': `${puts}`,
  'current-jobs-ready': '1',
  'current-jobs-reserved': '1',
  'current-jobs-delayed': `${jobs - 3}`,
  'current-jobs-buried': '1',
  'binlog-current-index': `${file}`,
  'binlog-records-written': `${records}`,
});

function healthOf(...told: Told[]): StoreHealth {
  const health = new StoreHealth(new VirtualClock(), () => undefined);
  for (const one of told) health.learn(statsOf(one));
  return health;
}

describe('StoreHealth', () => {
  it.each<[string, Told, Told]>([
    ['nothing happened', [10, 5, 15], [10, 5, 15]],
    ['a record for each put', [10, 5, 15], [13, 8, 18]],
    ['a record for each deletion', [10, 5, 15], [10, 3, 17]],
    ['two for what was put and deleted', [10, 5, 15], [12, 5, 19]],
    ['more, for releases and for moved jobs', [10, 5, 15], [11, 6, 40]],
    ['much happened before we came', [9_000, 5, 100], [9_000, 5, 100]],
  ])('trusts a log: %s', (_, ...told) => {
    expect(healthOf(...told)).toMatchObject({ hasLog: true, logStopped: false });
  });

  it.each<[string, Told, Told]>([
    ['a put', [10, 5, 15], [11, 6, 15]],
    ['a deletion', [10, 5, 15], [10, 4, 15]],
    ['some of the puts', [10, 5, 15], [14, 9, 17]],
    ['some of what was put and deleted', [10, 5, 15], [12, 5, 18]],
    ['a put behind one that was BURIED, which is counted twice', [10, 5, 15], [12, 8, 16]],
  ])('finds it stopped where %s left no record', (_, ...told) => {
    expect(healthOf(...told)).toMatchObject({ hasLog: true, logStopped: true });
  });

  it('keeps it stopped until a record is written again', () => {
    const health = healthOf([10, 5, 15], [11, 6, 15], [11, 6, 15]);
    expect(health.logStopped).toBe(true);
    health.learn(statsOf([12, 7, 16]));
    expect(health.logStopped).toBe(false);
  });

  it('finds no log stopped where there is none', () => {
    const health = healthOf();
    for (const told of [[10, 5, 0] as const, [20, 12, 0] as const]) health.learn(statsOf(told, 0));
    health.doubtLog();
    expect(health).toMatchObject({ hasLog: false, logStopped: false });
  });

  it('finds no stopped log on a server that reports nothing about it', () => {
    const health = healthOf();
    health.learn({ id: 'a' });
    health.learn({ id: 'a', 'total-jobs': '7' });
    expect(health).toMatchObject({ hasLog: false, logStopped: false });
  });

  it('treats a doubtful log as stopped until it advances from then on', () => {
    const health = healthOf([10, 5, 15]);
    health.doubtLog();
    expect(health.logStopped).toBe(true);
    // The records written before the failure, and the one that failed, which is counted.
    health.learn(statsOf([12, 7, 17]));
    health.learn(statsOf([12, 7, 17]));
    expect(health.logStopped).toBe(true);
    health.learn(statsOf([12, 6, 18]));
    expect(health.logStopped).toBe(false);
  });

  it('knows since when a server cannot be used', async () => {
    const clock = new VirtualClock();
    const health = new StoreHealth(clock, () => undefined);
    expect(health.since).toBeUndefined();
    const refused = clock.wall();
    health.refused('DRAINING');
    await clock.advance(6_000);
    expect(health).toMatchObject({ problem: undefined, since: undefined });
    health.refused('DRAINING'); // a put was tried again
    expect(health.since).toBe(refused);
    await clock.advance(70_000);
    health.refused('DRAINING');
    expect(health.since).toBe(clock.wall());
    await clock.advance(1_000);
    health.twin = 'n0:1';
    expect(health.since).toBe(clock.wall());
  });
});
