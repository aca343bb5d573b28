// The small versions of experiments, for specs. They need this workspace built: their processes are programs of `dist`.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from '@jest/globals';
import type { Ending } from '../ending.js';
import type { Described } from '../experiment.js';

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
/** Milliseconds. Only a safety net. */
export const LIMIT = 300_000;

export interface Result<Row> {
  readonly status: unknown;
  readonly rows: readonly Row[];
}

/** `npm run faults -- --small --json` with more flags. Rejects if it tells no row. */
export function runSmall<Row extends Ending>(...flags: string[]): Promise<Result<Row>> {
  const args = ['--enable-source-maps', MAIN, '--small', '--json', ...flags];
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, (error, stdout, stderr) => {
      if (stdout === '') return reject(new Error(stderr, { cause: error }));
      const lines = stdout.trim().split('\n');
      resolve({ status: error?.code ?? 0, rows: lines.map((line) => JSON.parse(line) as Row) });
    });
  });
}

/** Those with these names, which are in the order of their numbers; a test fails if one is not there. */
export function named<E extends Described>(all: readonly E[], names: readonly string[]): readonly E[] {
  const found = all.filter(({ name }) => names.includes(name));
  it('they are there', () => expect(found.map(({ name }) => name)).toEqual(names));
  return found;
}

/** A test for each of them. `flags`: of their kind. */
export function eachPasses(experiments: readonly Described[], ...flags: string[]): void {
  it.each(experiments.map(({ name, number }) => [name, String(number)] as const))(
    '%s',
    async (_, number) => {
      const { status, rows } = await runSmall(...flags, '--only', number);
      expect(rows).toEqual([expect.objectContaining({ passed: true, why: [] })]);
      expect(status).toBe(0);
    },
    LIMIT,
  );
}
