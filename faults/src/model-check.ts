// Experiment 22: the simulation in test/model checks the promises with random operations and faults. It uses internal parts
// of the library (embedded nodes, the memory ledger, a virtual clock), which only Jest compiles. So it runs Jest as a process.
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Row } from './runner.js';

/** The result of test/model/run-seeds.ts. */
interface ModelRow {
  readonly seeds: number;
  readonly jobs: number;
  readonly starts: number;
  readonly faults: number;
  readonly failed: readonly { readonly seed: number; readonly found: readonly string[] }[];
}

export const MODEL_CHECK = {
  number: 22,
  name: 'model-check',
  what: 'random operations and faults on a virtual clock; a failing seed can be rerun',
  /** The numbers by default and in the small version. The small one is low, because the tests run the model anyway. */
  seeds: 1_000,
  smallSeeds: 10,
};

const FOLDER = fileURLToPath(new URL('../../test/', import.meta.url));

/** Rejects only if the user ended it. */
export async function runModelCheck(seeds: number, signal: AbortSignal): Promise<Row> {
  const begun = performance.now();
  const folder = await mkdtemp(join(tmpdir(), 'faults-model-check-'));
  const file = join(folder, 'row.json');
  const env = { ...process.env, MODEL_SEEDS: String(seeds), MODEL_FROM: '1', MODEL_ROW: file };
  try {
    const output = await jest(env, signal);
    const text = await readFile(file, 'utf8').catch(() => undefined);
    signal.throwIfAborted();
    if (text === undefined) return rowOf({ seeds, jobs: 0, starts: 0, faults: 0, failed: [] }, begun, output);
    return rowOf(JSON.parse(text) as ModelRow, begun);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Resolves with its output, also if it failed. */
function jest(env: NodeJS.ProcessEnv, signal: AbortSignal): Promise<string> {
  const args = ['../scripts/jest.mjs', 'model/model.spec.ts', '-t', 'every promise'];
  const child = spawn(process.execPath, args, { cwd: FOLDER, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const stop = () => child.kill('SIGTERM');
  signal.addEventListener('abort', stop);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes) => (output += String(bytes)));
  return new Promise((resolve) =>
    child.on('close', () => {
      signal.removeEventListener('abort', stop);
      resolve(output);
    }),
  );
}

/** `broken`: the output of a Jest that wrote no result. */
function rowOf({ seeds, jobs, starts, faults, failed }: ModelRow, begun: number, broken?: string): Row {
  const all = failed.flatMap(({ found }) => found.map((text) => text.split(':', 1)[0]!));
  const count = (...promises: string[]) => all.filter((promise) => promises.includes(promise)).length;
  return {
    number: MODEL_CHECK.number,
    name: MODEL_CHECK.name,
    jobs,
    lost: count('lost'),
    early: count('early', 'time'),
    duplicates: count('duplicate', 'twice', 'overlap'),
    ranAfterRevoke: count('revoke', 'undone'),
    wrongGeneration: count('add', 'reschedule', 'stale'),
    worstLateness: null,
    latenessP99: null,
    recovery: null,
    ledgerRecords: null,
    took: Math.round(performance.now() - begun),
    passed: broken === undefined && failed.length === 0,
    why: [
      ...failed.map(({ seed, found }) => `seed ${seed}: ${found.join('; ')}`),
      ...(broken === undefined ? [] : [`the model check wrote no result: ${broken}`]),
    ],
    notes: [`${seeds} seeds, ${faults} faults, ${starts} starts of handlers, on a virtual clock`],
  };
}
