import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { clusterSuite } from '../support/suite.js';
import { optionsOf } from '../support/system.js';

const suite = clusterSuite();
let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'nest-dq-failed-start-'));
});
afterAll(() => rm(dir, { recursive: true }));

/** Milliseconds. A process that has not ended by then does not end by itself. */
const LONGEST = 30_000;

describe('a start that fails', () => {
  it.each([
    ['a provider', 'it fails in a provider'],
    ['wrong options', 'DQ_CONFIG: `advanced.lease` is "1s"'],
    ['two handlers', 'DQ_CONFIG: tube "one" has two handlers'],
    ['a hook', 'it fails in a hook'],
    ['a folder in use', 'is in use'],
  ])(
    'by %s leaves no timer, socket or lock behind, so that the process ends and the folder is free',
    async (fault, message) => {
      const servers = JSON.stringify(optionsOf(suite.servers));
      const script = join(import.meta.dirname, '..', 'support', 'failing-start-process.mjs');
      const child = spawn(process.execPath, [script, fault, join(dir, fault), servers]);
      const limit = setTimeout(() => child.kill('SIGKILL'), LONGEST);
      const ended = new Promise((resolve) => child.on('close', (code, signal) => resolve(signal ?? code)));
      const [printed, complaints] = await Promise.all([text(child.stdout), text(child.stderr)]);
      const end = await ended;
      clearTimeout(limit);
      const lines = printed
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line) as object);
      expect({ lines, complaints, end }).toEqual({
        lines: [{ error: expect.stringContaining(message) }, { free: true }],
        complaints: '',
        end: 0,
      });
    },
    60_000,
  );
});
