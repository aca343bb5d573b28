import type { Stats } from '../beanstalk/connection.js';
import type { ClusterNode } from '../cluster/cluster-node.js';
import { withinLimit } from '../time/call-limit.js';
import type { Clock } from 'nest-handlers/time';

/** A beanstalkd of the cluster, as this process sees it. All but the first five fields are absent while it doesn't answer. */
export interface NodeView {
  /** `host:port`, as in the option `beanstalks`. */
  readonly endpoint: string;
  /** Whether it stores jobs and lets this process reserve them. */
  readonly up: boolean;
  /** Why it can't; absent if it can. */
  readonly reason?: string;
  /** Since when it can't, by the clock of this process's machine. Absent if it can. */
  readonly since?: Date;
  /** Whether it is drained and gets no new copies: see `DqControl.drainNode`. */
  readonly drained: boolean;
  /** Id of the server, which changes with each start. */
  readonly instance?: string;
  /** Version of beanstalkd. */
  readonly version?: string;
  /** Time since its start, in ms, rounded to a second. */
  readonly uptime?: number;
  /** Open connections of all processes. */
  readonly connections?: number;
  /** Its copies of all tubes. */
  readonly copies?: CopyCounts;
  /** `stopped`: a restart loses what it has stored since then. `none`: it has none, or hasn't started one. */
  readonly binlog?: 'working' | 'stopped' | 'none';
  /** Maximum size of its binlog files, in bytes. */
  readonly binlogSize?: number;
  /** Maximum size of a copy, in bytes. */
  readonly maxJobSize?: number;
  /** Whether it accepts no new copies until its next start. */
  readonly draining?: boolean;
  /** CPU time of its process since the start, in ms. */
  readonly cpu?: number;
}

/** Number of copies by state. A job has several copies. */
export interface CopyCounts {
  /** Due, and not reserved yet. */
  readonly ready: number;
  /** Waiting for their time. */
  readonly delayed: number;
  /** Held by a process. */
  readonly reserved: number;
  /** Copies of dead letters. */
  readonly buried: number;
}

/** Time limit for an answer. A node that exceeds it is shown as not answering. */
const LIMIT_MS = 500;

/** Asks a node now. Takes at most half a second, and never rejects. */
export async function viewOfNode(node: ClusterNode, clock: Clock): Promise<NodeView> {
  const { endpoint, drained } = node;
  const asked = node.ask<Stats>((connection, done) => connection.stats(done));
  const stats = await withinLimit(clock, LIMIT_MS, asked).catch(() => undefined);
  const { reason } = node;
  const isUp = reason === 'up';
  const since = node.since !== undefined && { since: new Date(node.since) };
  if (!stats) {
    return {
      endpoint,
      up: false,
      reason: isUp ? `no answer within ${LIMIT_MS} ms` : reason,
      ...since,
      drained,
    };
  }
  return { endpoint, up: isUp, ...(!isUp && { reason }), ...since, drained, ...factsOf(node, stats) };
}

function factsOf(node: ClusterNode, stats: Stats): Partial<NodeView> {
  const { id, version, draining } = stats;
  const number = (name: string) => Number(stats[name] ?? 0);
  const binlog = node.logStopped ? 'stopped' : node.hasLog ? 'working' : 'none';
  const files = number('binlog-current-index') - number('binlog-oldest-index') + 1;
  return {
    ...(id !== undefined && { instance: id }),
    ...(version !== undefined && { version }),
    uptime: number('uptime') * 1_000,
    connections: number('current-connections'),
    copies: copyCounts(stats),
    binlog,
    ...(node.hasLog && { binlogSize: files * number('binlog-max-size') }),
    maxJobSize: node.maxJobSize,
    draining: draining === 'true',
    cpu: Math.round((number('rusage-utime') + number('rusage-stime')) * 1_000),
  };
}

/** Reads the counts from `stats` or `stats-tube`. */
export function copyCounts(stats: Stats): CopyCounts {
  const count = (state: string) => Number(stats[`current-jobs-${state}`] ?? 0);
  return {
    ready: count('ready'),
    delayed: count('delayed'),
    reserved: count('reserved'),
    buried: count('buried'),
  };
}
