import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';

const run = promisify(execFile);
const kit = import.meta.dirname;
const modules = join(import.meta.dirname, '..', '..', 'node_modules');

/** Resolves with the output of a runner; rejects with it if a test failed. */
async function test(...[script, ...args]: string[]): Promise<string> {
  const env = { PATH: process.env['PATH'], NO_COLOR: '1' };
  const { stdout, stderr } = await run(process.execPath, [join(modules, script!), ...args], { env });
  return stdout + stderr;
}

it('the built kit works in Vitest', async () => {
  expect(await test('vitest/vitest.mjs', 'run', '--root', join(kit, 'vitest'))).toMatch(/Tests +3 passed/);
}, 60_000);

it('the built kit works in a CommonJS Jest, untransformed', async () => {
  const config = join(kit, 'jest-commonjs', 'jest.config.cjs');
  expect(await test('jest/bin/jest.js', '--config', config, '-i')).toMatch(/Tests: +1 passed/);
}, 60_000);
