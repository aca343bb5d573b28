import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { alternate, joined, once, Rounds } from './rounds.js';

describe('alternate', () => {
  let said: string[];

  beforeEach(() => {
    said = [];
    jest.spyOn(process.stderr, 'write').mockImplementation((text) => said.push(String(text)) > 0);
  });

  afterEach(() => void jest.restoreAllMocks());

  it('runs all in each round, in reverse order in every second one, and tells which', async () => {
    const ran: string[] = [];
    const task = (name: string) => () => Promise.resolve(ran.push(name));
    const { ours, peer } = await alternate(3, { ours: task('ours'), peer: task('peer') });
    expect(ran).toEqual(['ours', 'peer', 'peer', 'ours', 'ours', 'peer']);
    expect([ours.values, peer.values]).toEqual([
      [1, 4, 5],
      [2, 3, 6],
    ]);
    expect(said.map((line) => line.slice('00:00:00 '.length))).toEqual([
      '  round 1 of 3: ours\n',
      '  round 1 of 3: peer\n',
      '  round 2 of 3: peer\n',
      '  round 2 of 3: ours\n',
      '  round 3 of 3: ours\n',
      '  round 3 of 3: peer\n',
    ]);
  });

  it('counts for each the time of its own rounds', async () => {
    const [shorter, longer] = [20, 200].map(
      (ms) => () => new Promise<void>((end) => void setTimeout(end, ms)),
    );
    const { brief, long } = await alternate(2, { brief: shorter!, long: longer! });
    expect(long.times.at).toBeGreaterThanOrEqual(399);
    expect(brief.times.at).toBeLessThan(long.times.at);
  });
});

describe('Rounds', () => {
  const times = { at: 7, processors: 3, stolen: 1, disk: undefined };
  const rounds = new Rounds([1, 2], times);

  it('keep their time whatever is made of their values', () => {
    expect(rounds.map((value) => 10 * value)).toEqual(new Rounds([10, 20], times));
    expect(rounds.flatMap((value) => [value, value])).toEqual(new Rounds([1, 1, 2, 2], times));
    expect(rounds.together((values) => values.length)).toEqual(new Rounds([2], times));
  });

  it('add up', () => {
    const sum = { at: 14, processors: 6, stolen: 2, disk: undefined };
    expect(joined([rounds, rounds])).toEqual(new Rounds([1, 2, 1, 2], sum));
  });

  it('may be one of one contender', async () => {
    const { values, times: taken } = await once(() => Promise.resolve('done'));
    expect(values).toEqual(['done']);
    expect(taken.at).toBeGreaterThan(0);
  });
});
