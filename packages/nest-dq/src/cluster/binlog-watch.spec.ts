import { describe, expect, it } from '@jest/globals';
import { BinlogWatch } from './binlog-watch.js';

/** What a server told: jobs that were put, jobs that are there, records of its log. */
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

function watchOf(...told: Told[]): BinlogWatch {
  const watch = new BinlogWatch();
  for (const one of told) watch.learn(statsOf(one));
  return watch;
}

describe('BinlogWatch', () => {
  it.each<[string, Told, Told]>([
    ['nothing happened', [10, 5, 15], [10, 5, 15]],
    ['a record for each put', [10, 5, 15], [13, 8, 18]],
    ['a record for each deletion', [10, 5, 15], [10, 3, 17]],
    ['two for what was put and deleted', [10, 5, 15], [12, 5, 19]],
    ['more, for releases and for moved jobs', [10, 5, 15], [11, 6, 40]],
    ['much happened before we came', [9_000, 5, 100], [9_000, 5, 100]],
  ])('trusts a log: %s', (_, ...told) => {
    expect(watchOf(...told)).toMatchObject({ there: true, stopped: false });
  });

  it.each<[string, Told, Told]>([
    ['a put', [10, 5, 15], [11, 6, 15]],
    ['a deletion', [10, 5, 15], [10, 4, 15]],
    ['some of the puts', [10, 5, 15], [14, 9, 17]],
    ['some of what was put and deleted', [10, 5, 15], [12, 5, 18]],
    ['a put behind one that was BURIED, which is counted twice', [10, 5, 15], [12, 8, 16]],
  ])('finds it stopped where %s left no record', (_, ...told) => {
    expect(watchOf(...told)).toMatchObject({ there: true, stopped: true });
  });

  it('keeps it stopped until a record is written again', () => {
    const watch = watchOf([10, 5, 15], [11, 6, 15], [11, 6, 15]);
    expect(watch.stopped).toBe(true);
    watch.learn(statsOf([12, 7, 16]));
    expect(watch.stopped).toBe(false);
  });

  it('finds no log stopped where there is none', () => {
    const watch = new BinlogWatch();
    for (const told of [[10, 5, 0] as const, [20, 12, 0] as const]) watch.learn(statsOf(told, 0));
    watch.doubt();
    expect(watch).toMatchObject({ there: false, stopped: false });
  });

  it('finds none stopped of a server that tells nothing of it', () => {
    const watch = new BinlogWatch();
    watch.learn({ id: 'a' });
    watch.learn({ id: 'a', 'total-jobs': '7' });
    expect(watch).toMatchObject({ there: false, stopped: false });
  });

  it('takes a doubtful one for stopped until it advances from then on', () => {
    const watch = watchOf([10, 5, 15]);
    watch.doubt();
    expect(watch.stopped).toBe(true);
    // What was written before the failure, and the record that failed, which is counted.
    watch.learn(statsOf([12, 7, 17]));
    watch.learn(statsOf([12, 7, 17]));
    expect(watch.stopped).toBe(true);
    watch.learn(statsOf([12, 6, 18]));
    expect(watch.stopped).toBe(false);
  });
});
