import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ExpectedAppJobs } from './expected-app-jobs.js';
import { ExpectedJobs } from './expected-jobs.js';
import { run } from './killed-process.js';

const program = (name: string) => fileURLToPath(new URL(name, import.meta.url));
/** `KILLS=300 npx jest durable/killed` kills as often, for a longer look. */
const KILLS = Number(process.env['KILLS'] ?? 24);
const APP_KILLS = Math.ceil(KILLS / 4);
/** Milliseconds that a process works at most. */
const LONGEST = 250;

let dir: string;

const output = () => join(dir, 'output');

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'nest-dq-killed-'));
});

afterEach(() => rm(dir, { recursive: true }));

describe('what is killed at any instant', () => {
  it(
    'has lost nothing that it acknowledged, and brings nothing back: a node',
    async () => {
      const expected = new ExpectedJobs();
      const { acknowledged } = expected;
      // Enough to have been killed in the midst of something: on a slow machine this takes more rounds.
      const isEnough = () => acknowledged.puts > KILLS && acknowledged.changes > KILLS;
      for (let round = 0; round < KILLS || !isEnough(); round++) {
        const args = [join(dir, 'data'), String(expected.lastId), `r${round}`];
        const killedAfter = Math.random() * LONGEST;
        await run(program('node-process.mjs'), args, output(), { killedAfter }, (line) =>
          expected.take(line),
        );
      }
    },
    KILLS * 10_000,
  );

  it(
    'has lost nothing that it acknowledged, and brings nothing back: an application',
    async () => {
      const expected = new ExpectedAppJobs();
      const { acknowledged } = expected;
      const isEnough = () =>
        acknowledged.adds > APP_KILLS && acknowledged.revokes > 0 && acknowledged.ends > 0;
      for (let round = 0; round < APP_KILLS || !isEnough(); round++) {
        const receipts = join(dir, 'receipts.json');
        await writeFile(receipts, JSON.stringify(expected.receipts));
        const args = [join(dir, 'data'), receipts];
        const killedAfter = Math.random() * 2 * LONGEST;
        await run(program('app-process.mjs'), args, output(), { killedAfter }, (line) => expected.take(line));
      }
    },
    APP_KILLS * 20_000,
  );
});

describe('a node that cannot write', () => {
  it('says so, acknowledges nothing more, and has all that it acknowledged', async () => {
    const expected = new ExpectedJobs();
    let failure = '';
    const take = (line: Parameters<ExpectedJobs['take']>[0] | { kind: 'failed'; message: string }) => {
      if (line.kind === 'failed') failure = line.message;
      else expected.take(line);
    };
    const args = () => [join(dir, 'data'), String(expected.lastId), 'full'];
    expect(await run(program('node-process.mjs'), args(), output(), { longestFile: 400 }, take)).toBe(3);
    expect(failure).toMatch(
      /^DQ_DISK: the folder .*data could not be written, and nothing more will be written to it: .*File too large/,
    );
    expect(expected.acknowledged.puts).toBeGreaterThan(20);
    await run(program('node-process.mjs'), args(), output(), { killedAfter: 0 }, take);
  });
});

describe('an application that cannot write', () => {
  it('logs an error that says what to do', async () => {
    let failure = '';
    const take = (line: { kind: string; message: string }) => {
      if (line.kind === 'failed') failure = line.message;
    };
    const receipts = join(dir, 'receipts.json');
    await writeFile(receipts, '[]');
    const args = [join(dir, 'data'), receipts, 'full'];
    expect(await run(program('app-process.mjs'), args, output(), { longestFile: 400 }, take)).toBe(3);
    expect(failure).toMatch(
      /^DQ_DISK: the folder .*data could not be written, .*free up space, then restart$/,
    );
  });
});
