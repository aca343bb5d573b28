import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, it } from '@jest/globals';

// The command as `npm ci` leaves it in a fresh clone: npm links what is there, and nothing is built yet.

const run = promisify(execFile);
const LIBRARY = join(import.meta.dirname, '..', '..', 'packages', 'nest-dq');

let clone: string;

beforeEach(async () => {
  clone = await mkdtemp(join(tmpdir(), 'nest-dq-clone-'));
  const library = join(clone, 'packages', 'nest-dq');
  await mkdir(library, { recursive: true });
  await writeFile(join(clone, 'package.json'), '{ "private": true, "workspaces": ["packages/nest-dq"] }');
  const { name, version, type, bin } = JSON.parse(
    await readFile(join(LIBRARY, 'package.json'), 'utf8'),
  ) as Record<string, unknown>;
  await writeFile(join(library, 'package.json'), JSON.stringify({ name, version, type, bin }));
  await cp(join(LIBRARY, 'bin'), join(library, 'bin'), { recursive: true });
  await run('npm', ['install', '--offline'], { cwd: clone });
});
afterEach(() => rm(clone, { recursive: true, force: true }));

it('is found before anything is built, and says what to do', async () => {
  const serve = run('npx', ['--no', '--offline', '--', 'nest-dq', 'serve'], { cwd: clone });
  await expect(serve).rejects.toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining(
      'nest-dq: this clone is not built yet: run `npx nx run nest-dq:build` first.\n',
    ),
  });
});
