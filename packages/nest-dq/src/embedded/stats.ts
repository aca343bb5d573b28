import { hostname, machine, version as osVersion } from 'node:os';
import type { Clock } from 'nest-handlers/time';
import type { Verb } from './command-parser.js';
import type { JobStore } from './job-store.js';
import type { Job, Tube } from './tubes.js';

/** The beanstalkd version whose protocol and statistics this node speaks. */
const VERSION = '1.12';

/** Constant while a process lives, and each costs a system call. */
const MACHINE = { hostname: hostname(), os: osVersion(), platform: machine() };

/** The facts reported by `stats`. Times are by `Clock.now`. */
export interface NodeFacts {
  readonly instance: string;
  readonly clock: Clock;
  readonly startedAt: number;
  readonly limits: { readonly maxJobSize: number };
  readonly isDraining: boolean;
  readonly store: JobStore;
  readonly commands: Readonly<Partial<Record<Verb, number>>>;
  /** Number of connections ever opened. */
  readonly totalConnections: number;
  readonly clients: readonly ClientFacts[];
}

interface ClientFacts {
  readonly isProducer: boolean;
  readonly isWorker: boolean;
  readonly isWaiting: boolean;
}

type Entries = readonly (readonly [key: string, value: string | number])[];

export function nodeStats(facts: NodeFacts): string {
  const { store, commands, clients } = facts;
  const { all: tubes } = store.tubes;
  const { user, system } = process.cpuUsage();
  const count = (verb: Verb) => [`cmd-${verb}`, commands[verb] ?? 0] as const;
  const sum = (of: (tube: Tube) => number) => tubes.reduce((total, tube) => total + of(tube), 0);
  const clientsThat = (is: keyof ClientFacts) => clients.filter((client) => client[is]).length;
  return dictionary([
    ['current-jobs-urgent', sum((tube) => tube.urgent)],
    ['current-jobs-ready', sum((tube) => tube.ready.size)],
    ['current-jobs-reserved', sum((tube) => tube.reserved)],
    ['current-jobs-delayed', sum((tube) => tube.delayed.size)],
    ['current-jobs-buried', sum((tube) => tube.buried.size)],
    count('put'),
    count('peek'),
    count('peek-ready'),
    count('peek-delayed'),
    count('peek-buried'),
    count('reserve'),
    count('reserve-with-timeout'),
    count('delete'),
    count('release'),
    count('use'),
    count('watch'),
    count('ignore'),
    count('bury'),
    count('kick'),
    count('touch'),
    count('stats'),
    count('stats-job'),
    count('stats-tube'),
    count('list-tubes'),
    count('list-tube-used'),
    count('list-tubes-watched'),
    count('pause-tube'),
    ['job-timeouts', store.timeouts],
    ['total-jobs', store.totalJobs],
    ['max-job-size', facts.limits.maxJobSize],
    ['current-tubes', tubes.length],
    ['current-connections', clients.length],
    ['current-producers', clientsThat('isProducer')],
    ['current-workers', clientsThat('isWorker')],
    ['current-waiting', clientsThat('isWaiting')],
    ['total-connections', facts.totalConnections],
    ['pid', process.pid],
    ['version', `"${VERSION}"`],
    ['rusage-utime', microseconds(user)],
    ['rusage-stime', microseconds(system)],
    ['uptime', seconds(facts.clock.now() - facts.startedAt)],
    ['binlog-oldest-index', 0],
    ['binlog-current-index', 0],
    ['binlog-records-migrated', 0],
    ['binlog-records-written', 0],
    ['binlog-max-size', 0],
    ['draining', String(facts.isDraining)],
    ['id', facts.instance],
    ['hostname', MACHINE.hostname],
    ['os', MACHINE.os],
    ['platform', MACHINE.platform],
  ]);
}

export function tubeStats(tube: Tube, now: number): string {
  return dictionary([
    ['name', tube.name],
    ['current-jobs-urgent', tube.urgent],
    ['current-jobs-ready', tube.ready.size],
    ['current-jobs-reserved', tube.reserved],
    ['current-jobs-delayed', tube.delayed.size],
    ['current-jobs-buried', tube.buried.size],
    ['total-jobs', tube.totalJobs],
    ['current-using', tube.using],
    ['current-watching', tube.watching],
    ['current-waiting', tube.waiting.size],
    ['cmd-delete', tube.deletes],
    ['cmd-pause-tube', tube.pauses],
    ['pause', tube.pauseSeconds],
    ['pause-time-left', tube.pausedUntil === undefined ? 0 : seconds(tube.pausedUntil - now)],
  ]);
}

export function jobStats(job: Job, now: number): string {
  const timed = job.state === 'reserved' || job.state === 'delayed';
  return dictionary([
    ['id', job.id],
    ['tube', job.tube.name],
    ['state', job.state],
    ['pri', job.pri],
    ['age', seconds(now - job.createdAt)],
    ['delay', job.delay],
    ['ttr', job.ttr],
    ['time-left', timed ? seconds(job.deadline - now) : 0],
    ['file', 0],
    ['reserves', job.reserves],
    ['timeouts', job.timeouts],
    ['releases', job.releases],
    ['buries', job.buries],
    ['kicks', job.kicks],
  ]);
}

export function tubeList(tubes: readonly Tube[]): string {
  return `---\n${tubes.map((tube) => `- ${tube.name}\n`).join('')}`;
}

function dictionary(entries: Entries): string {
  return `---\n${entries.map(([key, value]) => `${key}: ${value}\n`).join('')}`;
}

/** Whole seconds, truncated towards zero as in C. */
function seconds(milliseconds: number): number {
  return Math.trunc(milliseconds / 1000) + 0; // -0 becomes 0
}

/** Seconds with six decimals. */
function microseconds(value: number): string {
  return `${Math.trunc(value / 1e6)}.${String(value % 1e6).padStart(6, '0')}`;
}
