import { afterEach } from '@jest/globals';
import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';

/** A program of this workspace in a process of its own, which is killed after the test. */
export interface Program {
  readonly child: ChildProcessByStdio<Writable, Readable, null>;
  /** Resolves when the process is gone. */
  readonly ended: Promise<unknown>;
}

const programs: Program[] = [];

afterEach(async () => {
  for (const { child } of programs) child.kill('SIGKILL');
  await Promise.all(programs.splice(0).map(({ ended }) => ended));
}, 60_000);

/** `path` starts at the workspace `test`. `take` is called with each line that the program prints. */
export function startProgram(path: string, argument: string, take: (line: string) => void): Program {
  const file = fileURLToPath(new URL(`../${path}`, import.meta.url));
  const child = spawn(process.execPath, [file, argument], { stdio: ['pipe', 'pipe', 'inherit'] });
  createInterface(child.stdout).on('line', take);
  const program = { child, ended: once(child, 'close') };
  programs.push(program);
  return program;
}
