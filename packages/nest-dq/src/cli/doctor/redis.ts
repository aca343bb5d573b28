import type { Redis } from 'ioredis';
import { bytes, span } from 'nest-handlers/cli';
import { connectionFailure } from '../../connection-failure.js';
import { toError } from '../../errors.js';
import { ledgerConnection, type RedisSource } from '../../ledger/redis/connection.js';
import { infoValue, isOlder, OLDEST } from '../../ledger/redis/server-check.js';
import { withinLimit } from '../../time/call-limit.js';
import type { Clock } from 'nest-handlers/time';
import { failure, ok, warning, type Check } from './check.js';

/** Time limit of an answer, in ms. */
const DEADLINE = 2_000;
/** Maximum difference between the clocks, in ms. */
const CLOCKS = 1_000;
const ABOUT = 'redis';

/** What Redis reported. */
interface RedisFacts {
  /** Why it couldn't be asked. */
  readonly error?: string;
  /** Time of one round trip, in ms. */
  readonly took: number;
  readonly info: string;
  /** How far this machine's clock is ahead of that of Redis, in ms. */
  readonly ahead: number;
  readonly database: number;
}

/** Asks Redis, over a separate connection. Never rejects. */
export async function askRedis(source: RedisSource, clock: Clock): Promise<RedisFacts> {
  const connection = ledgerConnection(source) as Redis;
  let refused: Error | undefined;
  connection.on('error', (error: Error) => (refused ??= error));
  const database = connection.options.db ?? 0;
  const within = <T>(call: Promise<T>) => withinLimit(clock, DEADLINE, call);
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
    const { message } = connectionFailure(refused ?? toError(thrown));
    return { error: message, took: 0, info: '', ahead: 0, database };
  } finally {
    connection.disconnect();
  }
}

/** All checks of Redis. */
export function checkRedis(facts: RedisFacts): Check[] {
  const { error, took, info, ahead, database } = facts;
  if (error !== undefined) {
    const advice = 'start it, or look at its address, password and rights; without it nothing runs';
    return [failure(ABOUT, `it cannot be used: ${error}`, advice)];
  }
  const value = (name: string) => infoValue(info, name) ?? '';
  const version = value('redis_version');
  const up = `Redis ${version}, database ${database}, up for ${span(Number(value('uptime_in_seconds')) * 1_000)}, answered in ${Math.ceil(took)} ms`;
  return [
    isOlder(version)
      ? warning(ABOUT, up, `update it: ${OLDEST.join('.')} is the oldest with which nest-dq is tested`)
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
    return failure(ABOUT, 'it still loads its data', 'wait; until then nothing runs');
  const role = value('role');
  if (role === 'master') return ok(ABOUT, 'it is a master');
  const master = `${value('master_host')}:${value('master_port')}`;
  return failure(ABOUT, `it is a replica of ${master}`, 'name the master: a replica takes no decisions');
}

function checkPolicy(policy: string): Check {
  if (policy === 'noeviction') return ok(ABOUT, 'its maxmemory-policy is noeviction');
  const advice = 'set noeviction: it may evict what was decided, and jobs may run twice';
  return failure(ABOUT, `its maxmemory-policy is ${policy}`, advice);
}

function checkAof(value: Value): Check {
  if (value('aof_enabled') !== '1') {
    const advice = 'set appendonly yes: a restart forgets what was decided, and jobs may run twice';
    return failure(ABOUT, 'it keeps no append-only file', advice);
  }
  if (value('aof_last_write_status') === 'err')
    return failure(
      ABOUT,
      'it cannot write its append-only file',
      'look at its log, and make room on its disk',
    );
  if (value('aof_last_bgrewrite_status') === 'err') {
    const advice = 'look at its log: the file grows until a rewrite succeeds';
    return warning(ABOUT, 'it could not rewrite its append-only file', advice);
  }
  const size = value('aof_current_size');
  return ok(ABOUT, `its append-only file is written${size === '' ? '' : `: ${bytes(Number(size))}`}`);
}

function checkMemory(value: Value): Check {
  const used = Number(value('used_memory'));
  const limit = Number(value('maxmemory'));
  const most = limit || Number(value('total_system_memory'));
  const whose = limit > 0 ? 'maxmemory' : 'the memory of its machine, and has no maxmemory';
  const share = most > 0 ? used / most : 0;
  const fact = `it uses ${bytes(used)}, ${Math.round(share * 100)} % of ${whose}`;
  const advice = 'give it more memory: when it is full, nothing runs';
  if (share >= 0.95) return failure(ABOUT, fact, advice);
  return share >= 0.8 ? warning(ABOUT, fact, advice) : ok(ABOUT, fact);
}

function checkClocks(ahead: number): Check {
  const away = Math.abs(ahead);
  if (away <= CLOCKS) return ok(ABOUT, `its clock and that of this machine differ by ${Math.round(away)} ms`);
  const fact = `the clock of this machine is ${span(away)} ${ahead > 0 ? 'ahead of' : 'behind'} that of Redis`;
  const advice =
    'let NTP set both: jobs run by the clock of Redis, and your instants come from your machines';
  return warning('clocks', fact, advice);
}
