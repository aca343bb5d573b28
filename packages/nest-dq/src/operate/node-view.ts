import type { Stats } from '../beanstalk/connection.js';
import type { ClusterNode } from '../cluster/cluster-node.js';
import { withinLimit } from '../time/call-limit.js';
import type { Clock } from 'nest-handlers/time';

/** A beanstalkd of the cluster, as this process sees it. All but the first four are absent while it does not answer. */
export interface NodeView {
  /** `host:port`, as in the option `beanstalks`. */
  readonly endpoint: string;
  /** Whether it stores jobs and lets this process reserve them. */
  readonly up: boolean;
  /** Why it cannot; absent if it can. */
  readonly reason?: string;
  /** Whether it is drained, so that it gets no new copies: see `DqControl.drainNode`. */
  readonly drained: boolean;
  /** Changes with each start of the server. */
  readonly instance?: string;
  /** Of beanstalkd. */
  readonly version?: string;
  /** Milliseconds since its start, to a second. */
  readonly uptime?: number;
  /** Open connections, of all processes. */
  readonly connections?: number;
  /** The copies that it has, of all tubes. */
  readonly copies?: CopyCounts;
  /** `stopped`: a restart loses what it has stored since then. `none`: it has none, or has not begun one. */
  readonly binlog?: 'working' | 'stopped' | 'none';
  /** Bytes that the files of its binlog take, at most. */
  readonly binlogSize?: number;
  /** Bytes that a copy may have. */
  readonly maxJobSize?: number;
  /** It takes no new copies until its next start. */
  readonly draining?: boolean;
  /** Milliseconds that its process has computed since its start. */
  readonly cpu?: number;
}

/** Copies by state. A job has several copies. */
export interface CopyCounts {
  /** Due, and not taken yet. */
  readonly ready: number;
  /** Wait for their time. */
  readonly delayed: number;
  /** Held by a process. */
  readonly reserved: number;
  /** Of dead letters. */
  readonly buried: number;
}

/** Milliseconds. A node that answers later is shown as one that does not. */
const LIMIT = 500;

/** Asks a node now. Takes half a second at most, and never rejects. */
export async function viewOfNode(node: ClusterNode, clock: Clock): Promise<NodeView> {
  const { endpoint, drained } = node;
  const asked = node.ask<Stats>((connection, done) => connection.stats(done));
  const stats = await withinLimit(clock, LIMIT, asked).catch(() => undefined);
  const { reason } = node;
  const isUp = reason === 'up';
  if (!stats) return { endpoint, up: false, reason: isUp ? `no answer within ${LIMIT} ms` : reason, drained };
  return { endpoint, up: isUp, ...(!isUp && { reason }), drained, ...factsOf(node, stats) };
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

/** Of `stats` or `stats-tube`. */
export function copyCounts(stats: Stats): CopyCounts {
  const count = (state: string) => Number(stats[`current-jobs-${state}`] ?? 0);
  return {
    ready: count('ready'),
    delayed: count('delayed'),
    reserved: count('reserved'),
    buried: count('buried'),
  };
}
