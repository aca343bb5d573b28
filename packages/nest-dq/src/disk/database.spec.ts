import { existsSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, jest } from '@jest/globals';
import { VirtualClock } from 'nest-handlers/testing';

const manifest = JSON.parse(readFileSync(join(import.meta.dirname, '..', '..', 'package.json'), 'utf8')) as {
  peerDependencies: Record<string, string>;
};

it('says what to install where a folder is asked for without the package that keeps it, and makes none', async () => {
  jest.unstable_mockModule('classic-level', () => {
    throw new Error("Cannot find package 'classic-level'");
  });
  const { openDatabase } = await import('./database.js');
  const dir = join(tmpdir(), `nest-dq-none-${process.pid}`);
  const wait = { patience: 0, warn: () => undefined };
  await expect(
    openDatabase(dir, new VirtualClock(), wait, new AbortController().signal),
  ).rejects.toMatchObject({
    code: 'DQ_CONFIG',
    message:
      "DQ_CONFIG: storing jobs in a folder needs the package classic-level, which cannot be loaded (Cannot find package 'classic-level'): npm install classic-level@3",
  });
  expect(existsSync(dir)).toBe(false);
  expect(manifest.peerDependencies['classic-level']).toBe('^3.0.0');
});
