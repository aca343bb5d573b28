// What a service with go-queue's dq does, as a program in Go that is built once into the user's cache.
import { execFile, spawn, type ChildProcessByStdio } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { userCache } from './kafka-program.js';

const SOURCES = fileURLToPath(new URL('../go-queue/', import.meta.url));
const BUILD_LIMIT = 900_000;

const run = promisify(execFile);

/** The program; undefined where nobody has built it. */
export function findGoQueue(cache = userCache()): string | undefined {
  const program = programIn(cache);
  return existsSync(program) ? program : undefined;
}

/** Builds the program, unless it is there; a first build loads its modules. Undefined: there is no Go. */
export async function ensureGoQueue(cache = userCache()): Promise<string | undefined> {
  const found = findGoQueue(cache);
  if (found !== undefined) return found;
  const hasGo = await run('go', ['version']).then(
    () => true,
    () => false,
  );
  if (!hasGo) return undefined;
  process.stderr.write(
    'The tests beside go-queue need a program in Go. It is built now, in about a minute\n',
  );
  const program = programIn(cache);
  await mkdir(cache, { recursive: true });
  const part = `${program}.part-${process.pid}`;
  await run('go', ['build', '-buildvcs=false', '-o', part, '.'], { cwd: SOURCES, timeout: BUILD_LIMIT });
  await rename(part, program);
  return program;
}

function programIn(cache: string): string {
  const hash = createHash('sha256');
  for (const file of ['main.go', 'go.mod', 'go.sum']) hash.update(readFileSync(join(SOURCES, file)));
  return join(cache, `go-queue-${hash.digest('hex').slice(0, 12)}`);
}

type Child = ChildProcessByStdio<Writable, Readable, null>;

/** A process of a service with go-queue. */
export class GoQueueProcess {
  private readonly child: Child;
  private readonly ended: Promise<unknown>;
  private readonly lines: string[] = [];
  private wake = () => {};

  private constructor(program: string, args: readonly string[]) {
    this.child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    this.ended = once(this.child, 'close');
    createInterface(this.child.stdout).on('line', (line) => {
      this.lines.push(line);
      this.wake();
    });
  }

  /** Adds jobs: `add` says how. */
  static producer(program: string, tube: string, endpoints: readonly string[]): GoQueueProcess {
    return new GoQueueProcess(program, ['produce', tube, ...endpoints]);
  }

  /** Runs the jobs of a tube: `runs` has them. Resolves once it reserves on each node. */
  static async consumer(
    program: string,
    tube: string,
    redis: string,
    endpoints: readonly string[],
  ): Promise<GoQueueProcess> {
    const process = new GoQueueProcess(program, ['consume', tube, redis, ...endpoints]);
    for (const _ of endpoints) await process.next();
    return process;
  }

  /** Deletes a job's copies by go-queue's reference: `ok`, or `error …`. */
  static async revoke(program: string, ids: string): Promise<string> {
    const process = new GoQueueProcess(program, ['revoke', ids]);
    const answer = await process.next();
    await process.ended;
    return answer;
  }

  /** @param when `at` so many ms since 1970, or after a `delay` of so many ms. Resolves with go-queue's reference. */
  async add(when: 'at' | 'delay', ms: number, body: string): Promise<string> {
    this.child.stdin.write(`${when} ${Math.round(ms)} ${body}\n`);
    return this.next();
  }

  /** What it has run since the last look. */
  runs(): { readonly at: number; readonly body: string }[] {
    return this.lines.splice(0).map((line) => {
      const [at] = line.split(' ', 1) as [string];
      return { at: Number(at), body: line.slice(at.length + 1) };
    });
  }

  async kill(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.ended;
  }

  private async next(): Promise<string> {
    while (this.lines.length === 0) await new Promise<void>((resolve) => (this.wake = resolve));
    return this.lines.shift()!;
  }
}
