import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { eventually } from 'test-servers';

const IDS = /^\d+$/;

/** The processes of this machine: what each runs, by its id, and the id of its parent. */
function processes(): Map<string, { name: string; parent: string }> {
  const found = new Map<string, { name: string; parent: string }>();
  for (const id of readdirSync('/proc').filter((name) => IDS.test(name))) {
    try {
      const stat = readFileSync(`/proc/${id}/stat`, 'utf8');
      const end = stat.lastIndexOf(')');
      const [state, parent] = stat.slice(end + 2).split(' ');
      if (state !== 'Z') found.set(id, { name: stat.slice(stat.indexOf('(') + 1, end), parent: parent! });
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== 'ENOENT' && code !== 'ESRCH') throw error; // otherwise it has just ended
    }
  }
  return found;
}

/** All that this process has started, and what these have. */
function startedBy(root: number): { id: string; name: string }[] {
  const all = [...processes()];
  const ids = new Set([String(root)]);
  for (let size = 0; size !== ids.size;) {
    size = ids.size;
    for (const [id, { parent }] of all) if (ids.has(parent)) ids.add(id);
  }
  ids.delete(String(root));
  return all.filter(([id]) => ids.has(id)).map(([id, { name }]) => ({ id, name }));
}

describe('npm run bench', () => {
  it.each(['SIGINT', 'SIGKILL'] as const)('leaves no process behind after a %s', async (signal) => {
    const bench = spawn(process.execPath, ['dist/main.js', 'idle-job'], { stdio: 'ignore' });
    const ended = once(bench, 'exit');
    const names = () => startedBy(bench.pid!).map(({ name }) => name);
    // Its rounds take minutes, so they do not end by themselves meanwhile.
    await eventually('a round has its servers', () =>
      ['node', 'redis-server', 'beanstalkd'].every((name) => names().includes(name)),
    );
    const started = startedBy(bench.pid!);
    bench.kill(signal);
    expect(await ended).toEqual([null, signal]);
    const gone = () => {
      const left = processes();
      return started.every(({ id, name }) => left.get(id)?.name !== name);
    };
    await eventually('all that it started is gone', gone, 15_000);
  });
});
