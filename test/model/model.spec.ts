import { writeFile } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';
import { drawPlan } from './plan.js';
import { explain, runSeeds } from './run-seeds.js';
import { simulate } from './simulation.js';

/** More of them, or one again: MODEL_SEEDS=1000 MODEL_FROM=1 npm test. MODEL_ROW names a file for the result as JSON. */
const { MODEL_SEEDS: count = '300', MODEL_FROM: first = '1', MODEL_ROW: rowFile } = process.env;
/** Milliseconds: a safety net. */
const LIMIT = 120_000 + Number(count) * 2_000;

/**
 * The library's own producers, consumers and ledger rules in a world of seeded chance: processes crash and freeze, nodes
 * restart, forget and lose their clocks, the ledger is away, deaf, rolled back or flushed, messages are slow.
 */
describe('in a simulated world', () => {
  it(
    `every promise holds for ${count} seeds`,
    async () => {
      const row = await runSeeds(Number(first), Number(count));
      if (rowFile !== undefined) await writeFile(rowFile, JSON.stringify(row));
      const [failure] = row.failed;
      if (failure) throw new Error(`${row.failed.length} seeds failed; ${await explain(failure.seed)}`);
      expect(row.starts).toBeGreaterThan(0);
    },
    LIMIT,
  );

  it.each([3, 14, 15])('seed %i does the same every time', async (seed) => {
    const [one, other] = [await simulate(drawPlan(seed)), await simulate(drawPlan(seed))];
    expect(other.history.lines).toEqual(one.history.lines);
  });
});
