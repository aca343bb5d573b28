import { afterEach, expect, it } from '@jest/globals';
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LogReader, LogWriter, type Line } from './log.js';

const folder = mkdtempSync(join(tmpdir(), 'faults-log-'));
const path = join(folder, 'a.log');
const line = (at: number): Line => ({ what: 'end', run: 'p/1', how: 'done', at });

afterEach(() => rmSync(folder, { recursive: true }));

it('reads each line once, as soon as it is complete', () => {
  const reader = new LogReader(path);
  expect(reader.read()).toEqual([]);
  const writer = new LogWriter(path);
  writer.write(line(1));
  writer.write(line(2));
  expect(reader.read()).toEqual([line(1), line(2)]);
  const text = JSON.stringify(line(3));
  appendFileSync(path, text.slice(0, 10));
  expect(reader.read()).toEqual([]);
  appendFileSync(path, `${text.slice(10)}\n`);
  for (let at = 4; at < 5_000; at++) writer.write(line(at));
  expect(reader.read().map((read) => read.at)).toEqual(Array.from({ length: 4_997 }, (_, i) => i + 3));
  reader.close();
  writer.close();
});
