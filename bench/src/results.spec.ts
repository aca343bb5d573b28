import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Figure, Result, Row } from './measure.js';
import { mergedRuns, readResults, saveResult } from './results.js';

let folder: string;
beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), 'bench-results-'))));
afterAll(() => rm(folder, { recursive: true, force: true }));

function figureOf(median: number, spread = 1): Figure {
  return { median, low: median - spread, high: median + spread };
}

function rowOf(ours: number, beside?: number, more: Partial<Row> = {}): Row {
  return {
    what: '3 copies',
    unit: 'jobs/s',
    ours: figureOf(ours),
    ...(beside !== undefined && { beside: { name: 'BullMQ', ...figureOf(beside) } }),
    disturbance: { took: 10, stolen: 1, disk: 2 },
    ...more,
  };
}

function resultOf(rows: readonly Row[], more: Partial<Result> = {}): Result {
  return { measure: 'schedule', ours: 'nest-dq', title: 'adds', machine: 'Node', took: 60, rows, ...more };
}

describe('mergedRuns', () => {
  it('has the median of the medians, the range of all rounds, and the ratio and the target of that', () => {
    const target = { of: 'ratio', least: 2 } as const;
    const runs = [
      resultOf([rowOf(300, 100, { target, ratio: 3, met: true })]),
      resultOf([rowOf(100, 90, { target, ratio: 1.11, met: false })]),
      resultOf([rowOf(180, 95, { target, ratio: 1.89, met: false })]),
    ];
    expect(mergedRuns(runs)).toEqual([
      resultOf(
        [
          {
            what: '3 copies',
            unit: 'jobs/s',
            ours: { median: 180, low: 99, high: 301 },
            beside: { name: 'BullMQ', median: 95, low: 89, high: 101 },
            ratio: 180 / 95,
            target,
            met: false,
            disturbance: { took: 30, stolen: 1, disk: 2 },
          },
        ],
        { runs: 3, took: 180 },
      ),
    ]);
  });

  it('has the disturbance of the rounds of each row', () => {
    const rowsOf = (first: number, second: number) =>
      resultOf([
        rowOf(1, undefined, { disturbance: { took: 10, stolen: first } }),
        rowOf(1, 1, { disturbance: { took: 10, stolen: second } }),
      ]);
    const [{ rows }] = mergedRuns([rowsOf(0, 4), rowsOf(2, 8)]) as [Result];
    expect(rows.map(({ disturbance }) => disturbance)).toEqual([
      { took: 20, stolen: 1 },
      { took: 20, stolen: 6 },
    ]);
  });

  it('merges the same rows, also of one thing beside two others, and in another order', () => {
    const beside = (name: string, median: number) => ({ beside: { name, ...figureOf(median) } });
    const runs = [
      resultOf([rowOf(10, 1, beside('A', 5)), rowOf(10, 1, beside('B', 50))]),
      resultOf([rowOf(20, 1, beside('B', 60)), rowOf(20, 1, beside('A', 7))]),
    ];
    const [{ rows }] = mergedRuns(runs) as [Result];
    expect(rows.map((row) => [row.beside!.name, row.beside!.median])).toEqual([
      ['A', 6],
      ['B', 55],
    ]);
  });

  it('does not compare runs of different rows', () => {
    const more = resultOf([rowOf(1), rowOf(1, 1)]);
    const message = 'schedule: one of the runs 1 and 2 has no row "3 copies, jobs/s, beside BullMQ"';
    expect(() => mergedRuns([resultOf([rowOf(1)]), more])).toThrow(message);
    expect(() => mergedRuns([more, resultOf([rowOf(1)])])).toThrow(message);
  });

  it('lets no run have any of what may not be', () => {
    const early = (median: number) =>
      resultOf([rowOf(0, undefined, { ours: figureOf(median, 0), target: { of: 'ours', most: 0 } })]);
    const met = (...runs: Result[]) => mergedRuns(runs)[0]!.rows[0]!.met;
    expect(met(early(0), early(0), early(0))).toBe(true);
    expect(met(early(0), early(1), early(0))).toBe(false);
  });

  it('keeps measures apart, and names each machine', () => {
    const drain = resultOf([rowOf(2)], { measure: 'drain', machine: 'another' });
    const merged = mergedRuns([resultOf([rowOf(1)]), drain, { ...drain, machine: 'Node' }]);
    expect(merged.map(({ measure, runs, machine }) => [measure, runs, machine])).toEqual([
      ['schedule', 1, 'Node'],
      ['drain', 2, 'another\nNode'],
    ]);
  });
});

describe('a file of results', () => {
  it('gives back what was appended to it, also a figure of no value', async () => {
    const file = join(folder, 'run.json');
    const none = { median: NaN, low: NaN, high: NaN };
    const results = [resultOf([rowOf(1)]), resultOf([rowOf(1, 2, { ours: none })], { measure: 'drain' })];
    for (const result of results) await saveResult(file, result);
    expect(await readResults(file)).toEqual(results);
  });

  it.each(['{"measure":"schedu', '{"measure":"schedule"}', 'null'])(
    'says which line %s is no result',
    async (line) => {
      const file = join(folder, 'broken.json');
      await writeFile(file, `${JSON.stringify(resultOf([rowOf(1)]))}\n${line}\n`);
      await expect(readResults(file)).rejects.toThrow(`${file}, line 2 is not a measure's result: remove it`);
    },
  );
});
