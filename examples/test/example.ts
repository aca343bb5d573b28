import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { eventually } from 'test-servers';

const START_LIMIT = 120_000;
const DIST = join(import.meta.dirname, '..', 'dist');

interface Answer {
  readonly status: number;
  readonly body: any;
}

/** An example as a process, on a free port. Its jobs are in a folder that outlives it, until `remove`. */
export class Example {
  /** Lines of its output. */
  readonly output: string[] = [];
  private child: ChildProcess | undefined;
  private url = '';

  private constructor(
    private readonly args: readonly string[],
    private readonly folder: string,
    private readonly env: Record<string, string>,
  ) {}

  /** Starts it by the command of its README, which also starts its servers. */
  static byCommand(name: string, env: Record<string, string>): Promise<Example> {
    return this.of([join(DIST, 'run.js'), name], env);
  }

  /** Starts its own `main` alone, with the servers that `env` names. */
  static alone(name: string, env: Record<string, string>): Promise<Example> {
    return this.of([join(DIST, name, 'main.js')], env);
  }

  private static async of(args: readonly string[], env: Record<string, string>): Promise<Example> {
    const example = new Example(args, await mkdtemp(join(tmpdir(), 'example-')), env);
    await example.start();
    return example;
  }

  /** Resolves when it listens. */
  async start(): Promise<void> {
    this.url = '';
    const child = spawn(process.execPath, this.args, {
      env: { ...process.env, PORT: '0', DATA_DIR: this.folder, NO_COLOR: '1', ...this.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.child = child;
    for (const stream of [child.stdout, child.stderr])
      createInterface(stream).on('line', (line) => {
        this.output.push(line);
        const [, port] = /^Listening on http:.*:(\d+)$/.exec(line) ?? [];
        if (port) this.url = `http://localhost:${port}`;
      });
    await eventually(
      'the example listens',
      () => {
        if (child.exitCode !== null) throw new Error(`the example exited: ${this.output.join('\n')}`);
        return this.url !== '';
      },
      START_LIMIT,
    );
  }

  async request(method: string, path: string, body?: object, headers?: object): Promise<Answer> {
    const response = await fetch(this.url + path, {
      method,
      headers: { 'content-type': 'application/json', ...headers },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
  }

  /** Ends it in order, or as a crash does. Resolves with its exit status or the signal. Idempotent. */
  async end(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<number | string | null> {
    const { child } = this;
    if (!child) return null;
    if (child.exitCode === null && child.signalCode === null) {
      child.kill(signal);
      await once(child, 'exit');
    }
    return child.exitCode ?? child.signalCode;
  }

  async remove(): Promise<void> {
    await this.end();
    await rm(this.folder, { recursive: true, force: true });
  }
}
