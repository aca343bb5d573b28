import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { eventually } from 'test-servers';

interface Line {
  readonly event: 'started' | 'running' | 'warning';
  readonly found?: string;
  readonly message?: string;
}

/** A process of `draining-app.mjs`. */
class App {
  readonly lines: Line[] = [];
  readonly child: ChildProcess;
  readonly ended: Promise<unknown>;

  constructor(dir: string) {
    const program = join(process.cwd(), 'durable', 'draining-app.mjs');
    this.child = spawn(process.execPath, [program, dir], { stdio: ['pipe', 'pipe', 'inherit'] });
    createInterface(this.child.stdout!).on('line', (line) => this.lines.push(JSON.parse(line) as Line));
    this.ended = once(this.child, 'close');
  }

  says(event: Line['event']): Promise<void> {
    return eventually(`it says: ${event}`, () => this.lines.some((line) => line.event === event));
  }
}

let parent: string;
const apps: App[] = [];

beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), 'nest-dq-restarted-'));
});
afterEach(async () => {
  for (const { child } of apps) child.kill('SIGKILL');
  await Promise.all(apps.splice(0).map(({ ended }) => ended));
  await rm(parent, { recursive: true });
});

function start(dir: string): App {
  const app = new App(dir);
  apps.push(app);
  return app;
}

it('a process takes the folder over from one that drains, says once that it waits for it, and starts nothing before', async () => {
  const dir = join(parent, 'data');
  const first = start(dir);
  await first.says('running');
  first.child.kill('SIGTERM');
  const second = start(dir);
  await second.says('warning');
  expect(first.child.exitCode).toBe(null);
  first.child.stdin!.write('end\n');
  await first.ended;
  await second.says('started');
  expect(second.lines).toEqual([
    {
      event: 'warning',
      message: `the folder ${dir} is in use: this process waits for it, for 600 s at most`,
    },
    { event: 'started', found: 'done' },
  ]);
});
