import { expect, it } from '@jest/globals';
import { explain, runSeeds } from './run-seeds.js';

const SECOND = 1_000;

it(
  'every promise holds for 100 seeds more than in model.spec.ts',
  async () => {
    const { failed, starts } = await runSeeds(21, 100);
    const [failure] = failed;
    if (failure) throw new Error(`${failed.length} seeds failed; ${await explain(failure.seed)}`);
    expect(starts).toBeGreaterThan(0);
  },
  // A safety net.
  300 * SECOND,
);
