import { describe, it } from '@jest/globals';
import { drawActs } from './acts.js';
import { compareActs } from './compare.js';
import { shrink } from './shrink.js';
import { compareStreams, drawStream } from './streams.js';

/** More of them, or one again: WIRE_SEEDS=1000 WIRE_FROM=1 npm test. */
const { WIRE_SEEDS: count = '10', WIRE_FROM: first = '1' } = process.env;
/** Milliseconds: a safety net. */
const LIMIT = 120_000 + Number(count) * 5_000;

const seeds = Array.from({ length: Number(count) }, (_, index) => Number(first) + index);

/** Runs all seeds, and fails with the smallest part of the first one that fails. */
async function runSeeds<T>(
  draw: (seed: number) => readonly T[],
  compare: (items: readonly T[]) => Promise<string | undefined>,
): Promise<void> {
  for (const seed of seeds) {
    const items = draw(seed);
    const difference = await compare(items);
    if (difference === undefined) continue;
    const smallest = await shrink(items, async (fewer) => (await compare(fewer)) !== undefined);
    throw new Error(
      [
        `seed ${seed}: replay it with WIRE_FROM=${seed} WIRE_SEEDS=1`,
        difference,
        'The least that differs:',
        ...smallest.map((item) => JSON.stringify(item)),
        (await compare(smallest)) ?? 'but not this time',
      ].join('\n'),
    );
  }
}

describe(`the embedded node answers as beanstalkd does, for ${count} seeds,`, () => {
  it('what clients do to each other', () => runSeeds((seed) => drawActs(seed, 150), compareActs), LIMIT);

  it('any bytes at all', () => runSeeds(drawStream, compareStreams), LIMIT);
});
