import { column, counted, type Line, recent, span, styled, table } from 'nest-handlers/cli';
import { ANNOUNCE_EVERY_MS } from '../fleet/presence.js';
import type { ProcessView } from '../operate/processes.js';
import { clusterCommand } from './cluster.js';

/** Two announcements are missing. */
const SILENT_MS = 2 * ANNOUNCE_EVERY_MS;
/** How long a process that fell silent is named. */
const SHOWN_FOR_MS = 3_600_000;

export const processes = clusterCommand({
  name: 'processes',
  summary: "Show the application's processes, and what each consumes and runs.",
  about:
    'Each process reports every 5s. One that was killed or hangs is listed for 15s, and named below the list for an hour.',
  flags: {},
  status: '0 shown; 2 Redis unusable',
  examples: ['nest-dq processes', 'nest-dq processes --json'],
  async run(_args, { runtime }) {
    const { inspector } = runtime;
    const [found, gone] = await Promise.all([inspector.processes(), inspector.goneProcesses()]);
    const now = runtime.now();
    const list = found.length === 0 ? ['no processes running'] : showProcesses(found, now);
    return { json: found, text: [...list, ...showSilent([...found, ...gone], now)] };
  },
});

/** One line for each process that ended within the last hour without a goodbye, or doesn't report any more. */
export function showSilent(known: readonly ProcessView[], now: number): Line[] {
  const silentFor = ({ toldAt }: ProcessView) => now - toldAt.getTime();
  const silent = known.filter((each) => silentFor(each) > SILENT_MS && silentFor(each) < SHOWN_FOR_MS);
  return silent.map((each) =>
    styled(
      'yellow',
      `${each.host}:${each.pid} fell silent without a goodbye, last heard of ${recent(each.toldAt, now)}`,
    ),
  );
}

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
