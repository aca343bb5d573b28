import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { eventually } from 'test-servers';
import { startProgram, type Program } from '../support/program.js';

interface Line {
  readonly event: 'started' | 'running' | 'warning';
  readonly found?: string;
  readonly message?: string;
}

/** A process of `draining-app.mjs`. */
class App {
  readonly lines: Line[] = [];
  readonly program: Program;

  constructor(dir: string) {
    this.program = startProgram('durable/draining-app.mjs', dir, (line) =>
      this.lines.push(JSON.parse(line) as Line),
    );
  }

  says(event: Line['event']): Promise<void> {
    return eventually(`it says: ${event}`, () => this.lines.some((line) => line.event === event));
  }
}

let parent: string;

beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), 'nest-dq-restarted-'));
});
afterEach(() => rm(parent, { recursive: true }));

it('a process takes the folder over from one that drains, says once that it waits for it, and starts nothing before', async () => {
  const dir = join(parent, 'data');
  const first = new App(dir);
  await first.says('running');
  first.program.child.kill('SIGTERM');
  const second = new App(dir);
  await second.says('warning');
  expect(first.program.child.exitCode).toBe(null);
  first.program.child.stdin!.write('end\n');
  await first.program.ended;
  await second.says('started');
  expect(second.lines).toEqual([
    {
      event: 'warning',
      message: `the folder ${dir} is in use: waiting for it for at most 600 s`,
    },
    { event: 'started', found: 'done' },
  ]);
});
