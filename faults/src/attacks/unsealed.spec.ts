// The attacks, on an application without a seal. It needs this workspace built: its processes are programs of `dist`.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { AttackRow } from './runner.js';

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
/** Milliseconds. Only a safety net. */
const LIMIT = 300_000;

interface Result {
  readonly status: unknown;
  readonly rows: ReadonlyMap<string, AttackRow>;
}

function attacked(...names: string[]): Promise<Result> {
  const flags = ['--attacks', '--unsealed', '--small', '--json', '--only', names.join()];
  return new Promise((resolve, reject) => {
    execFile(process.execPath, ['--enable-source-maps', MAIN, ...flags], (error, stdout, stderr) => {
      if (stdout === '') return reject(new Error(stderr, { cause: error }));
      const rows = stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as AttackRow);
      resolve({ status: error?.code ?? 0, rows: new Map(rows.map((row) => [row.name, row])) });
    });
  });
}

describe('without a seal', () => {
  let result: Result;
  beforeAll(async () => void (result = await attacked('forge', 'siblings')), LIMIT);

  it.each<[string, (row: AttackRow) => boolean]>([
    ['forge', ({ forged, readable }) => forged > 0 && readable > 0],
    ['siblings', ({ forged, victimsGone }) => forged > 0 && victimsGone > 0],
  ])('the attack %s succeeds, and its checks tell', (name, told) => {
    const row = result.rows.get(name)!;
    expect(row.why.join()).not.toContain('failed with an error');
    expect({ passed: row.passed, told: told(row) }).toEqual({ passed: false, told: true });
  });

  it('the command ends with the status of a failure', () => expect(result.status).toBe(1));
});
