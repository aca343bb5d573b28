import { expect, it } from '@jest/globals';
import { refuseFailed, runSeeds } from './run-seeds.js';

const SECOND = 1_000;

it(
  'every promise holds for 100 seeds more than in model.spec.ts',
  async () => {
    const row = await runSeeds(21, 100);
    await refuseFailed(row);
    expect(row.starts).toBeGreaterThan(0);
  },
  // A safety net.
  300 * SECOND,
);
