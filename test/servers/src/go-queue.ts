// A service with go-queue's dq, as a program in Go that is built once into the user's cache.
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
import { userCache } from './maven.js';

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
  process.stderr.write('The go-queue tests need a Go program; building it now (about a minute)\n');
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

/** An event of a go-queue consumer: what it did with a copy, or with its job. */
export interface GoQueueEvent {
  /**
   * `deletes`: comes first, and before it does. Then `drops`: too late, or unreadable. `refused`: another one has the lock. `unlocked`:
   * Redis did not answer. `runs`, and at the end of the run `done` or `failed`.
   */
  readonly what: 'deletes' | 'drops' | 'refused' | 'unlocked' | 'runs' | 'done' | 'failed';
  /** Milliseconds since 1970, with microseconds. */
  readonly at: number;
  /** The payload. */
  readonly body: string;
}

/** Measurements of a consumer, in ms since 1970, with microseconds. */
export interface GoQueueMeasured {
  /** When the first and the last run began. */
  readonly First: number;
  readonly Last: number;
  /** From the time of each job to the begin of its run; negative: early. */
  readonly Late: readonly number[];
}

/** Jobs for a measure. */
export interface GoQueueJobs {
  readonly jobs: number;
  /** How many adds are under way at once. */
  readonly atOnce: number;
  /** When the first is due, in ms since 1970. */
  readonly due: number;
  /** Microseconds between two jobs. @default 0 */
  readonly every?: number;
  /** In the payload `{ n, due, text }`. */
  readonly text: string;
}

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
    for (const _ of endpoints) await process.ready();
    return process;
  }

  /** Deletes a job's copies by go-queue's reference: `ok`, or `error …`. */
  static async revoke(program: string, ids: string): Promise<string> {
    const process = new GoQueueProcess(program, ['revoke', ids]);
    const answer = await process.next();
    await process.ended;
    return answer;
  }

  /** Resolves with how many jobs it added in a second. */
  static async addMany(
    program: string,
    tube: string,
    { jobs, atOnce, due, every = 0, text }: GoQueueJobs,
    endpoints: readonly string[],
  ): Promise<number> {
    const numbers = [jobs, atOnce, due, every].map((number) => String(Math.round(number)));
    const { stdout } = await run(program, ['add', tube, ...numbers, text, ...endpoints]);
    return Number(stdout);
  }

  /** Like `consumer`, but reports only `measured`, once it has run `jobs` jobs. */
  static async meter(
    program: string,
    tube: string,
    redis: string,
    jobs: number,
    endpoints: readonly string[],
  ): Promise<GoQueueProcess> {
    const process = new GoQueueProcess(program, ['measure', tube, redis, String(jobs), ...endpoints]);
    for (const _ of endpoints) await process.ready();
    return process;
  }

  /** Measurements of a meter. Resolves when its jobs have run. */
  async measured(): Promise<GoQueueMeasured> {
    return JSON.parse(await this.next()) as GoQueueMeasured;
  }

  /** @param when `at`: `ms` since 1970. `delay`: in `ms`. Resolves with go-queue's reference, or with `error …`. */
  async add(when: 'at' | 'delay', ms: number, body: string): Promise<string> {
    this.child.stdin.write(`${when} ${Math.round(ms)} ${body}\n`);
    return this.next();
  }

  /** Runs of a consumer since the last call. */
  runs(): GoQueueEvent[] {
    return this.events().filter(({ what }) => what === 'runs');
  }

  /** Events of a consumer since the last call. */
  events(): GoQueueEvent[] {
    return this.lines.splice(0).map((line) => {
      const [what, us] = line.split(' ', 2) as [GoQueueEvent['what'], string];
      return { what, at: Number(us) / 1000, body: line.slice(what.length + us.length + 2) };
    });
  }

  async kill(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.ended;
  }

  /** One more node is reserved on. Others may have had jobs before, whose lines stay. */
  private async ready(): Promise<void> {
    while (!this.lines.includes('ready')) await this.line();
    this.lines.splice(this.lines.indexOf('ready'), 1);
  }

  private async next(): Promise<string> {
    while (this.lines.length === 0) await this.line();
    return this.lines.shift()!;
  }

  private line(): Promise<void> {
    return new Promise((resolve) => (this.wake = resolve));
  }
}
