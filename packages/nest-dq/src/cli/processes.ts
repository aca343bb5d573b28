import { column, counted, type Line, span, table } from 'nest-handlers/cli';
import type { ProcessView } from '../operate/processes.js';
import { clusterCommand } from './cluster.js';

export const processes = clusterCommand({
  name: 'processes',
  summary: "Show the application's processes, and what each consumes and runs.",
  about: 'Each process reports every 5s. After it ends, it is listed for up to 15s.',
  flags: {},
  status: '0 shown; 2 Redis unusable',
  examples: ['nest-dq processes', 'nest-dq processes --json'],
  async run(_args, { runtime }) {
    const found = await runtime.inspector.processes();
    const now = runtime.now();
    return { json: found, text: found.length === 0 ? 'no processes running' : showProcesses(found, now) };
  },
});

/** Formats one row per process, followed by what is unusual. */
export function showProcesses(found: readonly ProcessView[], now: number): Line[] {
  const rows = found.map(({ host, pid, version, since, elected, consumes, tubes }) => [
    `${host}:${pid}${elected ? ' *' : ''}`,
    version,
    span(Math.max(0, now - since.getTime())),
    tubes.reduce((sum, { running }) => sum + running, 0),
    tubes.reduce((sum, { longRuns }) => sum + longRuns.length, 0),
    consumes ? tubes.map(({ tube }) => tube).join(', ') : 'only produces',
  ]);
  const head = [
    'PROCESS',
    column('optional', 'VERSION'),
    column('time', 'UP FOR'),
    'RUNNING',
    'OVER 1S',
    column('reason', 'CONSUMES'),
  ];
  const notes: string[] = found.flatMap(({ host, pid, lost, unlisted, toRepair }) => [
    ...(lost === undefined ? [] : [`${host}:${pid} found ${counted(lost, 'lost job')}`]),
    ...(unlisted === undefined
      ? []
      : [`${host}:${pid} added ${counted(unlisted, 'job')} that did not fit in the index`]),
    ...(toRepair === undefined
      ? []
      : [`${host}:${pid} is repairing copies, and has yet to check about ${counted(toRepair, 'job')}`]),
  ]);
  return [table(head, rows), '', '* the leader', ...notes];
}
