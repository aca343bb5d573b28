import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from '@jest/globals';

const FOLDER = dirname(fileURLToPath(import.meta.url));

/** All files a file imports at run time, transitively. */
function importsOf(file: string, found = new Set<string>()): Set<string> {
  const text = readFileSync(file, 'utf8');
  for (const [, what, from] of text.matchAll(/^(?:import|export) ([^;]*?)from '([^']+)'/gms)) {
    if (what!.startsWith('type ')) continue;
    const path = from!.startsWith('.') ? join(dirname(file), from!.replace(/\.js$/, '.ts')) : from!;
    if (found.has(path)) continue;
    found.add(path);
    if (from!.startsWith('.')) importsOf(path, found);
  }
  return found;
}

it('needs nothing of kafkajs', () => {
  const all = [...importsOf(join(FOLDER, 'confluent-driver.ts'))];
  expect(all.some((path) => path.endsWith('confluent-cluster.ts'))).toBe(true);
  expect(all.filter((path) => path.includes('kafkajs'))).toEqual([]);
});
