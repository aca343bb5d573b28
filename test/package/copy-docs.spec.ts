// Spec files that pack a package run at once, and each packing copies the documents again.
import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { ROOT } from './packed-app.js';

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'copy-docs-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const copy = () => {
  const args = [join(ROOT, 'scripts', 'copy-docs.mjs'), 'LICENSE', 'docs'];
  execFileSync(process.execPath, args, { cwd: folder });
};
const changes = () =>
  ['LICENSE', 'docs', 'docs/README.md'].map((name) => statSync(join(folder, name), { bigint: true }).ctimeNs);

it('leaves in place what another process may be packing', () => {
  copy();
  const before = changes();
  copy();
  expect(changes()).toEqual(before);
});

it('updates what is old, and removes what is gone', () => {
  copy();
  appendFileSync(join(folder, 'docs', 'README.md'), 'old');
  writeFileSync(join(folder, 'docs', 'gone.md'), '');
  copy();
  execFileSync('diff', ['-r', join(ROOT, 'docs'), join(folder, 'docs')]);
  expect(readFileSync(join(folder, 'LICENSE'))).toEqual(readFileSync(join(ROOT, 'LICENSE')));
});
