import type { Parameters } from 'fast-check';
import { inTimeFor } from '../../support/fast-check.js';

/** More of them, others, or one again: WIRE_RUNS=1000 WIRE_SEED=5 WIRE_PATH=0:2:1 npm test, as the failure says. */
const { WIRE_RUNS: runs, WIRE_SEED: seed = '1', WIRE_PATH: path } = process.env;

export function runsOf<T>(usual: number): Parameters<T> {
  return {
    numRuns: Number(runs ?? usual),
    seed: Number(seed),
    ...inTimeFor(LIMIT),
    ...(path !== undefined && { path }),
  };
}

/** Milliseconds: a safety net, and time for fast-check to find the smallest failure. */
export const LIMIT = 180_000 + Number(runs ?? 0) * 5_000;
