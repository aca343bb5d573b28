// The nodes that are compared. Each is empty, and has a connection of a bare client.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { EmbeddedNode } from 'nest-dq/embedded';
import { startBeanstalkd } from 'test-servers';
import { residentSize } from '../memory.js';
import { RawConnection } from '../raw/raw-connection.js';

export interface Contender {
  readonly connection: RawConnection;
  /** The resident memory of its process, in bytes. */
  readonly memory: () => Promise<number>;
  readonly stop: () => Promise<void>;
}

const NEST_DQ = fileURLToPath(new URL('../cli.js', import.meta.resolve('nest-dq/embedded')));

/** The embedded node in this very process. */
export async function inProcess(): Promise<Contender> {
  const node = await EmbeddedNode.open();
  return {
    connection: RawConnection.over(node.dial()),
    memory: () => residentSize(process.pid),
    stop: () => node.close(),
  };
}

/** `nest-dq serve` in a process of its own, its jobs in memory or in a folder. */
export async function served(keeps: 'memory' | 'folder'): Promise<Contender> {
  const folder = keeps === 'folder' ? await mkdtemp(join(tmpdir(), 'nest-dq-bench-')) : undefined;
  const server = await serve(folder);
  return reach(server, async () => {
    await server.stop();
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  });
}

export interface Served {
  readonly pid: number;
  readonly endpoint: string;
  /** Ends the process: by default with SIGTERM, as an operator does. SIGKILL is like a crash. */
  readonly stop: (signal?: NodeJS.Signals) => Promise<void>;
}

/** Starts `nest-dq serve` with the folder; resolves when it listens. */
export async function serve(folder?: string): Promise<Served> {
  const args = [NEST_DQ, 'serve', '--port', '0', ...(folder === undefined ? [] : ['--dir', folder])];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  const said = once(createInterface(child.stdout), 'line');
  const [line] = (await Promise.race([said, ended])) as [unknown];
  const endpoint = /listens on (\S+);/.exec(String(line))?.[1];
  if (endpoint === undefined) throw new Error(`nest-dq serve did not start: ${String(line)}`);
  return {
    pid: child.pid!,
    endpoint,
    stop: async (signal = 'SIGTERM') => {
      child.kill(signal);
      await ended;
    },
  };
}

/** A real beanstalkd, in memory, or with a binlog that it syncs after each write, so that a stored job is durable. */
export async function beanstalkd(keeps: 'memory' | 'folder'): Promise<Contender> {
  const server = await startBeanstalkd(keeps === 'memory' ? { binlog: false } : { args: ['-f', '0'] });
  return reach(server, () => server.stop());
}

/** Connects to a server in another process. */
async function reach(
  { pid, endpoint }: { readonly pid: number; readonly endpoint: string },
  stop: () => Promise<void>,
): Promise<Contender> {
  const connection = await RawConnection.open(endpoint);
  return {
    connection,
    memory: () => residentSize(pid),
    stop: async () => {
      connection.close();
      await stop();
    },
  };
}

export async function withContender<T>(
  start: () => Promise<Contender>,
  use: (contender: Contender) => Promise<T>,
): Promise<T> {
  const contender = await start();
  try {
    return await use(contender);
  } finally {
    await contender.stop();
  }
}
