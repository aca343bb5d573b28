import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { apart as Made } from './apart.js';

const TASKS = `
const task = (here) => ({ here });
export const sum = task(async (...numbers) => ({ sum: numbers.reduce((a, b) => a + b, 0), pid: process.pid }));
export const values = task(async () => [NaN, Float64Array.of(1.5, NaN), new Map([['a', 1]])]);
export const fails = task(async () => {
  throw Object.assign(new Error('stored on 1 of 3 nodes', { cause: new Error('no answer') }), { code: 'DQ_TOO_FEW_COPIES' });
});
export const dies = task(async () => process.kill(process.pid, 'SIGKILL'));
`;

let folder: string;
let tasks: string;
/** As it was built: it forks a program. */
let apart: typeof Made;

beforeAll(async () => {
  ({ apart } = (await import(new URL('../dist/apart.js', import.meta.url).href)) as { apart: typeof Made });
  folder = await mkdtemp(join(tmpdir(), 'bench-apart-'));
  const file = join(folder, 'tasks.mjs');
  await writeFile(file, TASKS);
  tasks = pathToFileURL(file).href;
});

afterAll(() => rm(folder, { recursive: true, force: true }));

function notHere(): never {
  throw new Error('it ran in this process');
}

describe('apart', () => {
  it('runs the task with what it is given, each time in another process', async () => {
    const sum = apart(
      tasks,
      'sum',
      notHere as (a: number, b: number, c?: number) => Promise<{ sum: number; pid: number }>,
    );
    const [first, second] = [await sum(1, 2), await sum(1, 2, 3)];
    expect([first.sum, second.sum]).toEqual([3, 6]);
    expect(new Set([process.pid, first.pid, second.pid]).size).toBe(3);
  });

  it('gives a clone of the result', async () => {
    const values = apart(tasks, 'values', notHere as () => Promise<unknown>);
    expect(await values()).toEqual([NaN, Float64Array.of(1.5, NaN), new Map([['a', 1]])]);
  });

  it('fails as the task did, with its stack, its cause and its code', async () => {
    const fails = apart(tasks, 'fails', notHere as () => Promise<void>);
    await expect(fails()).rejects.toMatchObject({
      code: 'DQ_TOO_FEW_COPIES',
      message: 'Error: stored on 1 of 3 nodes',
      stack: expect.stringMatching(/^fails failed in its own process: .*tasks\.mjs:6:.*no answer/s),
    });
  });

  it('fails when the process dies', async () => {
    const dies = apart(tasks, 'dies', notHere as () => Promise<void>);
    await expect(dies()).rejects.toThrow(/exited before it was ready \(SIGKILL\): .*"name":"dies"/);
  });
});
