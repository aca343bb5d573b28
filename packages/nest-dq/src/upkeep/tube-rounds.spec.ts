import { beforeEach, describe, expect, it } from '@jest/globals';
import { VirtualClock } from 'nest-handlers/testing';
import { TubeRounds } from './tube-rounds.js';

const SECOND = 1_000;
const TIMES = { firstAfter: 5 * SECOND, every: 60 * SECOND };

describe('TubeRounds', () => {
  let clock: VirtualClock;
  let looks: [tube: string, at: number][];

  beforeEach(() => {
    clock = new VirtualClock();
    looks = [];
  });

  const rounds = (count: number, look = () => Promise.resolve()) => {
    const tubes = Array.from({ length: count }, (_, i) => `t${i}`);
    return new TubeRounds(
      clock,
      TIMES,
      () => tubes,
      (tube) => {
        looks.push([tube, clock.now() / SECOND]);
        return look();
      },
    );
  };

  it('looks at a few tubes together, a while after the start, and a minute later', async () => {
    rounds(2).start();
    await clock.advance(5 * SECOND + 60 * SECOND);
    expect(looks).toEqual([
      ['t0', 5],
      ['t1', 5],
      ['t0', 65],
      ['t1', 65],
    ]);
  });

  it('looks at ten tubes a second at most', async () => {
    rounds(25).start();
    await clock.advance(60 * SECOND);
    expect(looks.map(([, at]) => at)).toEqual([
      ...Array.from({ length: 10 }, () => 5),
      ...Array.from({ length: 10 }, () => 6),
      ...Array.from({ length: 5 }, () => 7),
    ]);
    expect(new Set(looks.map(([tube]) => tube)).size).toBe(25);
    await clock.advance(7 * SECOND);
    expect(looks.at(-1)).toEqual(['t9', 67]);
  });

  it('ends with the looks in progress, even between two parts of a round', async () => {
    let end!: () => void;
    const going = rounds(1, () => new Promise((resolve) => (end = resolve)));
    going.start();
    await clock.advance(5 * SECOND);
    let isOver = false;
    const stopped = going.close().then(() => (isOver = true));
    await clock.advance(0);
    expect(isOver).toBe(false);
    end();
    await stopped;
    await clock.advance(200 * SECOND);
    expect(looks).toEqual([['t0', 5]]);

    const paused = rounds(15);
    paused.start();
    await clock.advance(5 * SECOND);
    await paused.close();
    await clock.advance(200 * SECOND);
    expect(looks).toHaveLength(1 + 10);
  });

  it('begins nothing after a stop', async () => {
    const stopped = rounds(1);
    await stopped.close();
    stopped.start();
    await clock.advance(200 * SECOND);
    expect(looks).toEqual([]);
  });
});
