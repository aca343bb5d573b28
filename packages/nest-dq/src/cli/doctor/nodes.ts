import { TLSSocket } from 'node:tls';
import { grouped, instant, span } from 'nest-handlers/cli';
import { BeanstalkError } from '../../beanstalk/codec/beanstalk-error.js';
import { Connection, type Stats } from '../../beanstalk/connection.js';
import { announcedIn, awaySinceIn, isAnnouncement } from '../../cluster/admission.js';
import { StoreHealth } from '../../cluster/store-health.js';
import { toError } from '../../errors.js';
import { dialTo } from '../../nest/dial.js';
import type { Endpoint } from '../../nest/endpoint.js';
import type { NodeTls } from '../../nest/tls-option.js';
import type { Clock } from 'nest-handlers/time';
import { plainReason } from '../plain-error.js';
import { type Check, failure, ok, warning } from './check.js';

/** Time limit for a node's answer. A node that is replaying its binlog takes longer. */
const DEADLINE_MS = 2_000;
/** Time between the two readings of a node's counters. */
const INTERVAL_MS = 1_000;
/** Max number of tubes checked per node. */
const MAX_TUBES = 500;
const OLDEST = [1, 12] as const;
/** Remaining validity of a certificate below which it is reported. */
const SOON_MS = 14 * 86_400_000;

/** A node's report. */
export interface NodeFacts {
  readonly endpoint: string;
  /** Why it couldn't be asked. The other fields are then empty. */
  readonly error?: string;
  /** Time until its first answer, in ms. */
  readonly took: number;
  readonly stats: Stats;
  /** The stats one second later. */
  readonly later: Stats;
  /** The stats of each tube with the prefix, by its stored name. */
  readonly tubes: ReadonlyMap<string, Stats>;
  /** Names of some tubes without the prefix. */
  readonly otherTubes: readonly string[];
  /** Whether it has more tubes than were checked. */
  readonly more: boolean;
  /** Identities of the ledgers used there by processes with this prefix. */
  readonly ledgers: readonly string[];
  /** Since when these can't use their ledger. Absent if they can. */
  readonly ledgerAwaySince?: Date | undefined;
  /** Whether it accepted the connection, if it didn't answer. */
  readonly isOpen?: boolean;
  /** Expiry of its certificate, as wall clock time in ms. Absent if it has shown none. */
  readonly validUntil?: number;
}

/** Asks one node, over a separate connection. Never rejects. */
export async function askNode(
  endpoint: Endpoint,
  tls: NodeTls | undefined,
  prefix: string,
  clock: Clock,
): Promise<NodeFacts> {
  const began = clock.now();
  const { text } = endpoint;
  const stream = dialTo(endpoint, tls)();
  let isOpen = false;
  stream.once('connect', () => (isOpen = true));
  const connection = new Connection(stream, { clock, deadline: DEADLINE_MS });
  try {
    const stats = await connection.ask<Stats>((done) => connection.stats(done));
    const took = clock.now() - began;
    const validUntil =
      stream instanceof TLSSocket ? Date.parse(stream.getPeerCertificate().valid_to) : undefined;
    const all = await connection.ask<string[]>((done) => connection.listTubes(done));
    const jobTubes = all.filter((name) => !isAnnouncement(name));
    const names = jobTubes.filter((name) => name.startsWith(prefix));
    // Every connection watches `default` at first.
    const otherTubes = jobTubes.filter((name) => !name.startsWith(prefix) && name !== 'default');
    const tubes = await askTubes(connection, names.slice(0, MAX_TUBES));
    await new Promise<void>((resolve) => void clock.after(INTERVAL_MS, resolve));
    const later = await connection.ask<Stats>((done) => connection.stats(done));
    const more = names.length > MAX_TUBES;
    return {
      endpoint: text,
      took,
      stats,
      later,
      tubes,
      otherTubes,
      more,
      ledgers: announcedIn(all, prefix),
      ledgerAwaySince: awaySinceIn(all, prefix),
      ...(validUntil !== undefined && { validUntil }),
    };
  } catch (thrown) {
    const none = {
      took: 0,
      stats: {},
      later: {},
      tubes: new Map(),
      otherTubes: [],
      more: false,
      ledgers: [],
    };
    return { endpoint: text, error: reasonOf(toError(thrown)), isOpen, ...none };
  } finally {
    connection.close();
  }
}

async function askTubes(connection: Connection, names: readonly string[]): Promise<Map<string, Stats>> {
  const asked = names.map(async (name) => {
    const stats = await connection.ask<Stats | 'NOT_FOUND'>((done) => connection.statsTube(name, done));
    return [name, stats] as const;
  });
  const exists = (entry: readonly [string, Stats | 'NOT_FOUND']): entry is [string, Stats] =>
    entry[1] !== 'NOT_FOUND';
  return new Map((await Promise.all(asked)).filter(exists));
}

/** Facts about the nodes that others report. */
interface NodesElsewhere {
  /** Endpoints drained by an operator. */
  readonly drained: readonly string[];
  /** Ledger time in ms. */
  readonly now: number;
  /** Returns since when processes can't use a node. */
  readonly awaySince: (endpoint: string) => Date | undefined;
  /** Copies of a job that have to be stored. */
  readonly minWritten: number;
}

/** Returns all checks of the nodes. */
export function checkNodes(
  nodes: readonly NodeFacts[],
  { drained, now, awaySince, minWritten }: NodesElsewhere,
  clock: Clock,
): Check[] {
  const areSomeUp = nodes.some(({ error }) => error === undefined);
  const late = areSomeUp ? '; jobs whose primary copy is there run late, from another node' : '';
  return [
    ...nodes.flatMap((node) => [
      ...checkNode(node, { since: sinceText(awaySince(node.endpoint), now), late }, clock),
      ...(drained.includes(node.endpoint) ? [isDrained(node.endpoint)] : []),
    ]),
    ...checkTogether(nodes, minWritten),
  ];
}

function isDrained(endpoint: string): Check {
  const advice = 'to use it again: `nest-dq node undrain`; once it is empty, remove it from `beanstalks`';
  return warning(endpoint, 'drained, so it gets no new copies', advice);
}

function sinceText(since: Date | undefined, now: number): string {
  return since ? `, for the application since ${instant(since, now)}` : '';
}

/** `since`: for how long processes have missed it, and `late`: what that means, each as the end of a sentence. */
function checkNode(
  facts: NodeFacts,
  { since, late }: { readonly since: string; readonly late: string },
  clock: Clock,
): Check[] {
  const { endpoint, error, took, stats, later, validUntil } = facts;
  if (error !== undefined) {
    const advice = `${adviceOn(facts)}${late}`;
    const fact = error.startsWith('no answer') ? error : `no answer: ${error}`;
    return [failure(endpoint, fact + since, advice)];
  }
  const { version = '(unknown version)', uptime = '0', draining } = stats;
  const up = `beanstalkd ${version}, up for ${span(Number(uptime) * 1_000)}, answered in ${Math.ceil(took)}ms`;
  const checks = [
    isOlder(version)
      ? failure(endpoint, up, `upgrade it: ${OLDEST.join('.')} is the oldest version that works`)
      : ok(endpoint, up),
  ];
  if (draining === 'true') {
    checks.push(
      warning(
        endpoint,
        'draining: accepts no more jobs',
        'restart it once it is empty, or remove it from `beanstalks`',
      ),
    );
  }
  checks.push(checkBinlog(endpoint, stats, later, clock));
  if (validUntil !== undefined) checks.push(checkCertificate(endpoint, validUntil, clock));
  return checks;
}

function adviceOn({ error = '', isOpen = false }: NodeFacts): string {
  if (/certificate/.test(error)) return 'replace the certificate, or fix the option `tls`';
  if (isOpen && error.startsWith('no answer'))
    return 'it accepts connections, so it hangs, or replays its binlog: check its disk and the limits of its container, or restart it';
  return 'start it, or check the network';
}

function checkCertificate(endpoint: string, validUntil: number, clock: Clock): Check {
  const left = validUntil - clock.wall();
  const fact = `certificate expires in ${span(left)}`;
  return left > SOON_MS
    ? ok(endpoint, fact)
    : warning(endpoint, fact, 'renew it before then, or the node becomes unreachable');
}

/** The counters start at zero with the server. A working binlog has a record for each put and each deletion. */
function checkBinlog(endpoint: string, stats: Stats, later: Stats, clock: Clock): Check {
  const health = new StoreHealth(clock, () => undefined);
  const instance = stats['id'] ?? '';
  health.greeted(instance, NOTHING);
  health.learn(stats);
  health.learn(later);
  const records = `${grouped(Number(later['binlog-records-written'] ?? 0))} records since it started`;
  if (!health.hasLog) {
    const advice = 'start it with -b FOLDER; a restart loses all its copies';
    return warning(endpoint, 'no binlog', advice);
  }
  if (!health.logStopped) return ok(endpoint, `binlog works: ${records}`);
  const advice =
    'free disk space, then restart it; the restart loses what it stored and brings back what it deleted since the binlog stopped';
  return failure(endpoint, `binlog has stopped: ${records}`, advice);
}

/** The initial stats of a server with a binlog. */
const NOTHING: Stats = { 'binlog-current-index': '1' };

function checkTogether(nodes: readonly NodeFacts[], minWritten: number): Check[] {
  const checks: Check[] = [];
  const answering = nodes.filter(({ error }) => error === undefined);
  for (const [index, { endpoint, stats }] of answering.entries()) {
    const twin = answering.slice(0, index).find((other) => other.stats['id'] === stats['id']);
    if (!twin) continue;
    const advice = 'list each server once: two copies of a job on one server are lost together';
    checks.push(failure('nodes', `${twin.endpoint} and ${endpoint} are the same server`, advice));
  }
  const servers = new Set(answering.map(({ stats }) => stats['id'])).size;
  const fact = `${servers} of ${nodes.length} store jobs`;
  if (nodes.length === 1) {
    checks.push(
      warning(
        'nodes',
        'only one node, so each job has one copy',
        'run three, on machines that do not fail together',
      ),
    );
  } else if (servers === 0) {
    checks.push(failure('nodes', fact, 'bring them back: nothing runs, and adds fail'));
  } else if (servers < minWritten) {
    checks.push(failure('nodes', fact, `bring back the others: adds fail until ${minWritten} do`));
  } else if (servers < nodes.length) {
    checks.push(warning('nodes', fact, 'bring back the others: until then jobs may have fewer copies'));
  } else {
    checks.push(ok('nodes', fact));
  }
  const sizes = new Set(answering.map(({ stats }) => stats['max-job-size']));
  if (sizes.size > 1) {
    const fact = `different maximum job sizes: ${[...sizes].join(', ')} bytes`;
    checks.push(warning('nodes', fact, 'start all with the same -z: the smallest one applies'));
  }
  return checks;
}

/** The underlying reason: a command's own error only says that the connection was lost. */
function reasonOf(error: Error): string {
  return error.cause instanceof BeanstalkError ? reasonOf(error.cause) : plainReason(error.message);
}

function isOlder(version: string): boolean {
  const [, major, minor] = /^(\d+)\.(\d+)/.exec(version) ?? [];
  if (major === undefined) return false;
  return Number(major) < OLDEST[0] || (Number(major) === OLDEST[0] && Number(minor) < OLDEST[1]);
}

/** Checks whether processes on these nodes use another ledger. `identity`: identity of the ledger in this Redis, if it has one. */
export function checkLedgers(nodes: readonly NodeFacts[], identity: string | undefined): Check[] {
  return nodes.flatMap(({ endpoint, ledgers }) => {
    const others = ledgers.filter((id) => id !== identity);
    if (others.length === 0) return [];
    const here = identity === undefined ? 'this Redis has none' : `this Redis has ${identity}`;
    const fact = `processes use ledger ${others.join(', ')} there, but ${here}`;
    const advice =
      'use the same `redis` in all processes of these nodes and in this command, or a separate `prefix` for each application';
    const lost =
      identity === undefined ? '; if this Redis has just lost its data, check again in 10 seconds' : '';
    return [failure(endpoint, fact, advice + lost)];
  });
}
