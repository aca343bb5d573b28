import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { PROBE } from './probe.lua.js';

it('tries every command that the scripts run', () => {
  const folder = new URL('.', import.meta.url);
  const files = readdirSync(folder).filter((file) => file.endsWith('.lua.ts'));
  const run = files.flatMap((file) => {
    const source = readFileSync(new URL(file, folder), 'utf8');
    return Array.from(source.matchAll(/\bcall\('([A-Z]+)'/g), ([, command]) => command!);
  });
  expect(run.length).toBeGreaterThan(10);
  const tried = Array.from(PROBE.matchAll(/\bneed\('([A-Z]+)'/g), ([, command]) => command!);
  expect(new Set(tried)).toEqual(new Set(run));
});
