import type { Redis } from 'ioredis';
import { bytes, span } from 'nest-handlers/cli';
import { connectionFailure } from '../../connection-failure.js';
import { toError } from '../../errors.js';
import { isUnsent, ledgerConnection, type RedisSource } from '../../ledger/redis/connection.js';
import { infoValue } from '../../ledger/redis/server-check.js';
import { isOlder, OLDEST } from '../../ledger/unfit-settings.js';
import { withinLimit } from '../../time/call-limit.js';
import type { Clock } from 'nest-handlers/time';
import { ledgerDown } from '../ledger-down.js';
import type { Outage } from '../outage.js';
import { failure, ok, warning, type Check } from './check.js';

/** Time limit for an answer. */
const DEADLINE_MS = 2_000;
/** Max difference between the clocks. */
const MAX_CLOCK_SKEW_MS = 1_000;
const ABOUT = 'redis';

/** Redis's report. */
interface RedisFacts {
  /** Why it couldn't be asked. */
  readonly error?: string;
  /** Time of one round trip, in ms. */
  readonly took: number;
  readonly info: string;
  /** How far this machine's clock is ahead of Redis's, in ms. */
  readonly ahead: number;
  readonly database: number;
}

/** Asks Redis, over a separate connection. Never rejects. */
export async function askRedis(source: RedisSource, clock: Clock): Promise<RedisFacts> {
  const connection = ledgerConnection(source) as Redis;
  let refused: Error | undefined;
  connection.on('error', (error: Error) => (refused ??= error));
  const database = connection.options.db ?? 0;
  const within = <T>(call: Promise<T>) => withinLimit(clock, DEADLINE_MS, call);
  try {
    await within(connection.connect());
    const info = await within(connection.info());
    const [sent, sentAt] = [clock.wall(), clock.now()];
    const [seconds, micros] = await within(connection.time());
    const took = clock.now() - sentAt;
    const ahead = sent + took / 2 - (Number(seconds) * 1_000 + Number(micros) / 1_000);
    if (refused) throw refused; // such as an answer to SELECT
    return { took, info, ahead, database };
  } catch (thrown) {
    const error = refused ?? toError(thrown);
    return {
      error: isUnsent(error) ? 'it closed the connection' : connectionFailure(error).message,
      took: 0,
      info: '',
      ahead: 0,
      database,
    };
  } finally {
    connection.disconnect();
  }
}

/** Returns all checks of Redis. `outage`: what the nodes show. `now`: ledger time in ms. */
export function checkRedis(facts: RedisFacts, outage: Outage, now: number): Check[] {
  const { error, took, info, ahead, database } = facts;
  if (error !== undefined) {
    const down = ledgerDown(error, outage, now);
    return [failure(ABOUT, down.fact, down.advice)];
  }
  const value = (name: string) => infoValue(info, name) ?? '';
  const version = value('redis_version');
  const up = `Redis ${version}, database ${database}, up for ${span(Number(value('uptime_in_seconds')) * 1_000)}, answered in ${Math.ceil(took)}ms`;
  return [
    isOlder(version)
      ? warning(ABOUT, up, `upgrade it: ${OLDEST.join('.')} is the oldest version nest-dq is tested with`)
      : ok(ABOUT, up),
    checkRole(value),
    checkPolicy(value('maxmemory_policy')),
    checkAof(value),
    checkMemory(value),
    checkClocks(ahead),
  ];
}

type Value = (name: string) => string;

function checkRole(value: Value): Check {
  if (value('loading') === '1')
    return failure(ABOUT, 'still loading its data', 'wait; no job runs until then');
  const role = value('role');
  if (role === 'master') return ok(ABOUT, 'is a master');
  const master = `${value('master_host')}:${value('master_port')}`;
  return failure(ABOUT, `is a replica of ${master}`, 'use the master: a replica cannot decide anything');
}

function checkPolicy(policy: string): Check {
  if (policy === 'noeviction') return ok(ABOUT, 'maxmemory-policy is noeviction');
  const advice = 'set noeviction: Redis may evict decisions, and jobs may then run twice';
  return failure(ABOUT, `maxmemory-policy is ${policy}`, advice);
}

function checkAof(value: Value): Check {
  if (value('aof_enabled') !== '1') {
    const advice = 'set appendonly yes: a restart loses decisions, and jobs may then run twice';
    return failure(ABOUT, 'append-only file is off', advice);
  }
  if (value('aof_last_write_status') === 'err')
    return failure(ABOUT, 'cannot write its append-only file', 'check its log, and free disk space');
  if (value('aof_last_bgrewrite_status') === 'err') {
    const advice = 'check its log: the file grows until a rewrite succeeds';
    return warning(ABOUT, 'last rewrite of the append-only file failed', advice);
  }
  const size = value('aof_current_size');
  return ok(ABOUT, `append-only file works${size === '' ? '' : `: ${bytes(Number(size))}`}`);
}

function checkMemory(value: Value): Check {
  const used = Number(value('used_memory'));
  const limit = Number(value('maxmemory'));
  const most = limit || Number(value('total_system_memory'));
  const whose = limit > 0 ? 'maxmemory' : 'the memory of its machine (maxmemory not set)';
  const share = most > 0 ? used / most : 0;
  const fact = `uses ${bytes(used)}, ${Math.round(share * 100)}% of ${whose}`;
  const advice = 'give it more memory: no job runs once it is full';
  if (share >= 0.95) return failure(ABOUT, fact, advice);
  return share >= 0.8 ? warning(ABOUT, fact, advice) : ok(ABOUT, fact);
}

function checkClocks(ahead: number): Check {
  const away = Math.abs(ahead);
  if (away <= MAX_CLOCK_SKEW_MS) return ok(ABOUT, `clock is within ${Math.round(away)}ms of this machine`);
  const fact = `the clock of this machine is ${span(away)} ${ahead > 0 ? 'ahead of' : 'behind'} Redis`;
  const advice =
    'synchronize both by NTP: jobs run by the clock of Redis, while the times you pass come from your machines';
  return warning('clocks', fact, advice);
}
