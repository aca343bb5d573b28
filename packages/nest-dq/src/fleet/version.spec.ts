import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { VERSION } from './version.js';

it('is that of the package', () => {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  expect(VERSION).toBe((JSON.parse(text) as { version: string }).version);
});
