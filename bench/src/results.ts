// The results of runs in a file, a line of JSON for each measure, and the median of several runs.
import { appendFile, readFile } from 'node:fs/promises';
import { totalDisturbance } from './disturbance.js';
import { compared, figure } from './figures.js';
import type { Figure, Result, Row } from './measure.js';

export function resultLine(result: Result): string {
  return `${JSON.stringify(result)}\n`;
}

/** Appends it to the file, which need not be there. */
export function saveResult(file: string, result: Result): Promise<void> {
  return appendFile(file, resultLine(result));
}

/** Rejects if the file cannot be read, or a line of it is no result. */
export async function readResults(file: string): Promise<Result[]> {
  const lines = (await readFile(file, 'utf8')).split('\n');
  return lines.flatMap((line, index) => {
    if (line === '') return [];
    try {
      return [parsed(line)];
    } catch (error) {
      throw new Error(`${file}, line ${index + 1} is not a measure's result: remove it`, { cause: error });
    }
  });
}

/** JSON has null for NaN, and a result has no null. */
function parsed(line: string): Result {
  const result = JSON.parse(line, (_, value: unknown) => (value === null ? NaN : value)) as Partial<Result>;
  if (!Array.isArray(result.rows)) throw new Error('it has no rows');
  return result as Result;
}

/**
 * One result for each measure: the median of the medians of all its runs, the range of all their rounds, and the disturbance of all of
 * them. Throws if a run of a measure has a row that another one of its runs lacks.
 */
export function mergedRuns(results: readonly Result[]): Result[] {
  const measures = [...new Set(results.map(({ measure }) => measure))];
  return measures.map((name) => merged(results.filter(({ measure }) => measure === name)));
}

function merged(runs: readonly Result[]): Result {
  const [first] = runs as [Result];
  const keys = runs.map(({ rows }) => rows.map(keyOf));
  for (const [index, others] of keys.entries()) {
    const lacking =
      keys[0]!.find((key) => !others.includes(key)) ?? others.find((key) => !keys[0]!.includes(key));
    if (lacking !== undefined)
      throw new Error(`${first.measure}: one of the runs 1 and ${index + 1} has no row "${lacking}"`);
  }
  return {
    ...first,
    machine: [...new Set(runs.map(({ machine }) => machine))].join('\n'),
    took: runs.reduce((sum, { took }) => sum + took, 0),
    runs: runs.length,
    rows: first.rows.map((row) => {
      const key = keyOf(row);
      return mergedRow(runs.map(({ rows }) => rows.find((each) => keyOf(each) === key)!));
    }),
  };
}

/** Returns the key of a row: its subject, its unit, and what it is compared with. */
function keyOf({ what, unit, beside }: Row): string {
  return `${what}, ${unit}${beside ? `, beside ${beside.name}` : ''}`;
}

function mergedRow(rows: readonly Row[]): Row {
  const [{ what, unit, beside, target }] = rows as [Row];
  return compared({
    what,
    unit,
    ours: mergedFigure(rows.map(({ ours }) => ours)),
    ...(beside && { beside: { name: beside.name, ...mergedFigure(rows.map((row) => row.beside!)) } }),
    ...(target && { target }),
    disturbance: totalDisturbance(rows.map(({ disturbance }) => disturbance)),
  });
}

function mergedFigure(figures: readonly Figure[]): Figure {
  return {
    median: figure(figures.map(({ median }) => median)).median,
    low: Math.min(...figures.map(({ low }) => low)),
    high: Math.max(...figures.map(({ high }) => high)),
  };
}
