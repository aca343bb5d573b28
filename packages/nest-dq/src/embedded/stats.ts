import { hostname, machine, version as osVersion } from 'node:os';
import type { Clock } from '../time/clock.js';
import type { Verb } from './command-parser.js';
import type { JobStore } from './store.js';
import type { Job, Tube, Tubes } from './tubes.js';

/** The beanstalkd whose protocol and statistics this node speaks. */
const VERSION = '1.12';

/** None of it changes while a process lives, and each costs a system call. */
const MACHINE = { hostname: hostname(), os: osVersion(), platform: machine() };
/** Milliseconds for which the processor time is not asked again. */
const USAGE_LASTS = 10;

/** What `stats` tells besides the jobs. Times are milliseconds. */
export interface NodeFacts {
  instance: string;
  uptime: number;
  usage: NodeJS.CpuUsage;
  maxJobSize: number;
  isDraining: boolean;
  store: JobStore;
  tubes: Tubes;
  commands: Readonly<Partial<Record<Verb, number>>>;
  connections: { current: number; producers: number; workers: number; waiting: number; total: number };
}

/** The processor time of this process, for `stats`: who asks without end does not have the system asked each time. */
export class Usage {
  private usage = process.cpuUsage();
  private askedAt: number;

  constructor(private readonly clock: Clock) {
    this.askedAt = clock.now();
  }

  get(): NodeJS.CpuUsage {
    const now = this.clock.now();
    if (now >= this.askedAt + USAGE_LASTS) {
      this.usage = process.cpuUsage();
      this.askedAt = now;
    }
    return this.usage;
  }
}

type Entries = readonly (readonly [key: string, value: string | number])[];

export function nodeStats(facts: NodeFacts): string {
  const { instance, uptime, usage, maxJobSize, isDraining, store, tubes, commands, connections } = facts;
  const count = (verb: Verb) => [`cmd-${verb}`, commands[verb] ?? 0] as const;
  const sum = (of: (tube: Tube) => number) => tubes.all.reduce((total, tube) => total + of(tube), 0);
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
    ['max-job-size', maxJobSize],
    ['current-tubes', tubes.all.length],
    ['current-connections', connections.current],
    ['current-producers', connections.producers],
    ['current-workers', connections.workers],
    ['current-waiting', connections.waiting],
    ['total-connections', connections.total],
    ['pid', process.pid],
    ['version', `"${VERSION}"`],
    ['rusage-utime', microseconds(usage.user)],
    ['rusage-stime', microseconds(usage.system)],
    ['uptime', seconds(uptime)],
    ['binlog-oldest-index', 0],
    ['binlog-current-index', 0],
    ['binlog-records-migrated', 0],
    ['binlog-records-written', 0],
    ['binlog-max-size', 0],
    ['draining', String(isDraining)],
    ['id', instance],
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

/** Whole seconds, as C divides: towards zero. */
function seconds(milliseconds: number): number {
  return Math.trunc(milliseconds / 1000) + 0; // -0 becomes 0
}

/** Seconds with six decimals. */
function microseconds(value: number): string {
  return `${Math.trunc(value / 1e6)}.${String(value % 1e6).padStart(6, '0')}`;
}
