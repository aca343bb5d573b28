import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { eventually } from 'test-servers';
import type { Result } from './measure.js';
import { saveResult } from './results.js';

const run = promisify(execFile);
/** As built: the command starts further programs of `dist`. */
const MAIN = fileURLToPath(new URL('../dist/main.js', import.meta.url));

const IDS = /^\d+$/;

/** The processes of this machine: what each runs, by its id, and the id of its parent. */
function processes(): Map<string, { name: string; parent: string }> {
  const found = new Map<string, { name: string; parent: string }>();
  for (const id of readdirSync('/proc').filter((name) => IDS.test(name))) {
    try {
      const stat = readFileSync(`/proc/${id}/stat`, 'utf8');
      const end = stat.lastIndexOf(')');
      const [state, parent] = stat.slice(end + 2).split(' ');
      if (state !== 'Z') found.set(id, { name: stat.slice(stat.indexOf('(') + 1, end), parent: parent! });
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== 'ENOENT' && code !== 'ESRCH') throw error; // otherwise it has just ended
    }
  }
  return found;
}

/** All that this process has started, and what these have. */
function startedBy(root: number): { id: string; name: string }[] {
  const all = [...processes()];
  const ids = new Set([String(root)]);
  for (let size = 0; size !== ids.size;) {
    size = ids.size;
    for (const [id, { parent }] of all) if (ids.has(parent)) ids.add(id);
  }
  ids.delete(String(root));
  return all.filter(([id]) => ids.has(id)).map(([id, { name }]) => ({ id, name }));
}

function resultOf(measure: string, median: number): Result {
  const ours = { median, low: median, high: median };
  const row = { what: 'jobs', unit: 'jobs/s', ours, disturbance: { took: 1, stolen: 2 } } as const;
  return { measure, ours: 'nest-dq', title: 'jobs', machine: 'Node', took: 1, rows: [row] };
}

/** Calls `use` with the file of each run, in which these measures were saved. */
async function withSaved(
  runs: readonly (readonly Result[])[],
  use: (files: readonly string[]) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-main-'));
  try {
    const files = runs.map((_, index) => join(folder, `run${index + 1}.json`));
    for (const [index, results] of runs.entries())
      for (const result of results) await saveResult(files[index]!, result);
    await use(files);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

describe('npm run bench', () => {
  it('shows the median of the runs that were saved, in the order of the measures', async () => {
    const runs = [10, 30, 20].map((rate) => [resultOf('drain', rate), resultOf('schedule', 2 * rate)]);
    await withSaved(runs, async (files) => {
      const { stdout } = await run(process.execPath, [MAIN, '--merge', ...files]);
      const shown = stdout.split('\n').map((line) => line.split(/ {2,}/).filter((cell) => cell !== ''));
      expect(shown.filter((cells) => cells.length > 0 && cells[0] !== 'nest-dq')).toEqual([
        ['Node'],
        ['schedule: jobs (median of 3 runs, 3 s)'],
        ['jobs, jobs/s', '40', '20–60', '2.0 %'],
        ['drain: jobs (median of 3 runs, 3 s)'],
        ['jobs, jobs/s', '20', '10–30', '2.0 %'],
      ]);
    });
  });

  it('measures nothing again that is in the file, and shows it', async () => {
    await withSaved([[resultOf('drain', 10)]], async ([file]) => {
      const before = await readFile(file!, 'utf8');
      const args = [MAIN, 'drain', '--json', '--save', file!];
      const { stdout, stderr } = await run(process.execPath, args);
      expect(JSON.parse(stdout)).toEqual(resultOf('drain', 10));
      expect(stderr).toMatch(/^\d\d:\d\d:\d\d drain \(1 of 1\) is already measured\n$/);
      expect(await readFile(file!, 'utf8')).toBe(before);
    });
  });

  it.each(['SIGINT', 'SIGKILL'] as const)('leaves no process behind after a %s', async (signal) => {
    const bench = spawn(process.execPath, [MAIN, 'idle-job'], { stdio: 'ignore' });
    const ended = once(bench, 'exit');
    const names = () => startedBy(bench.pid!).map(({ name }) => name);
    // Its rounds take minutes, so they do not end by themselves meanwhile.
    await eventually('a round has its servers', () =>
      ['node', 'redis-server', 'beanstalkd'].every((name) => names().includes(name)),
    );
    const started = startedBy(bench.pid!);
    bench.kill(signal);
    expect(await ended).toEqual([null, signal]);
    const gone = () => {
      const left = processes();
      return started.every(({ id, name }) => left.get(id)?.name !== name);
    };
    await eventually('all that it started is gone', gone, 15_000);
  });
});
