import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, readFile } from 'node:fs/promises';
import type { Readable } from 'node:stream';

export interface Fate {
  /** Milliseconds after it said, through descriptor 3, that it is ready: then it is killed with SIGKILL. @default it is not */
  readonly killedAfter?: number;
  /** Kilobytes that no file of it can be longer than. @default no limit */
  readonly longestFile?: number;
}

/**
 * Runs a program that prints lines of JSON. They go to a file, so that what was printed is seen, whatever becomes of the
 * program and however slowly it is read. Resolves, when all of it was taken, to the exit status, or to undefined if the
 * program was killed.
 */
export async function run(
  program: string,
  args: readonly string[],
  output: string,
  { killedAfter, longestFile }: Fate,
  take: (line: never) => void,
): Promise<number | undefined> {
  const limit = longestFile === undefined ? 'unlimited' : String(longestFile);
  const shell = ['-c', 'ulimit -f "$1"; shift; exec "$@"', 'bash', limit, process.execPath, program, ...args];
  const file = await open(output, 'w');
  let complaints = '';
  let ended: [number | null, NodeJS.Signals | null];
  try {
    const child = spawn('bash', shell, { stdio: ['ignore', file.fd, 'pipe', 'pipe'] });
    child.stderr!.setEncoding('utf8').on('data', (text: string) => (complaints += text));
    (child.stdio[3] as Readable).once('data', () => {
      if (killedAfter !== undefined) setTimeout(() => child.kill('SIGKILL'), killedAfter);
    });
    ended = (await once(child, 'close')) as typeof ended;
  } finally {
    await file.close();
  }
  const [status, signal] = ended;
  if (complaints !== '') throw new Error(`the process complained: ${complaints}`);
  const lines = (await readFile(output, 'utf8')).split('\n');
  for (const line of lines.slice(0, -1)) take(JSON.parse(line) as never);
  if (signal === 'SIGKILL') return undefined;
  if (status === null) throw new Error(`the process ended by ${signal}`);
  return status;
}
