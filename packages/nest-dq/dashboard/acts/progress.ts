import type { BulkExampleWire, BulkProgressWire } from '../../src/dashboard/wire.js';

type Progress = BulkProgressWire<BulkExampleWire>;

const MAX_SHOWN = 10;

/** Progress of two acts, one after the other, as of one. */
export function joined(first: Progress | undefined, second: Progress): Progress {
  if (!first) return second;
  const { cursor: _, leaderless: before = [], ...told } = first;
  const leaderless = [...before, ...(second.leaderless ?? [])];
  const earliest = pick(first.earliest, second.earliest, (a, b) => Date.parse(a) < Date.parse(b));
  const latest = pick(first.latest, second.latest, (a, b) => Date.parse(a) > Date.parse(b));
  return {
    ...told,
    done: first.done + second.done,
    failed: first.failed + second.failed,
    skipped: first.skipped + second.skipped,
    failures: [...first.failures, ...second.failures].slice(0, MAX_SHOWN),
    examples: [...first.examples, ...second.examples].slice(0, MAX_SHOWN),
    ...(earliest !== undefined && { earliest }),
    ...(latest !== undefined && { latest }),
    ...(leaderless.length > 0 && { leaderless }),
  };
}

function pick(
  a: string | undefined,
  b: string | undefined,
  isBetter: (a: string, b: string) => boolean,
): string | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return isBetter(a, b) ? a : b;
}

/** How many a second were changed, skipped or failed, and the milliseconds left; undefined if nothing is known yet. */
export function pace(
  handled: number,
  total: number,
  elapsedMs: number,
): { readonly perSecond: number; readonly leftMs: number } | undefined {
  if (handled === 0 || elapsedMs <= 0) return undefined;
  const perSecond = (handled * 1_000) / elapsedMs;
  return { perSecond, leftMs: (Math.max(0, total - handled) * 1_000) / perSecond };
}
