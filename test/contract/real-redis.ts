// A ledger in a real Redis, and what the specs do with one tube of it.
import { afterAll, afterEach, beforeAll, expect } from '@jest/globals';
import { Cluster, Redis } from 'ioredis';
import type { TubeLedger } from 'nest-dq/src/ledger/ledger.js';
import type { ClaimRequest } from 'nest-dq/src/ledger/requests.js';
import { RedisFleet } from 'nest-dq/src/fleet/redis-fleet.js';
import { RedisLedger, type RedisLedgerOptions } from 'nest-dq/src/ledger/redis/redis-ledger.js';
import { systemClock } from 'nest-handlers/time';
import { eventually, type RedisServer, startRedis } from 'test-servers';
import { SETTINGS } from './ledger-harness.js';

export const DOWN = {
  code: 'DQ_LEDGER_DOWN',
  indeterminate: true,
  cause: expect.objectContaining({ message: expect.any(String) }),
};

/** For `describe.each`: whether it is a cluster. */
export const EACH_REDIS = [
  ['one Redis', false],
  ['a Redis Cluster', true],
] as const;

/** A server for all tests of the `describe` around it. */
export function realRedis({ cluster = false } = {}) {
  const at = {} as { server: RedisServer; inspect: Redis; client: Redis | Cluster };

  beforeAll(async () => {
    const server = await startRedis({ cluster });
    const place = { host: server.host, port: server.port };
    const options = { keyPrefix: 'theirs:', lazyConnect: true };
    const client = cluster ? new Cluster([place], options) : new Redis({ ...place, ...options });
    const inspect = new Redis(server.url, { retryStrategy: () => 50 });
    for (const each of [client, inspect]) each.on('error', () => undefined); // it is killed on purpose
    Object.assign(at, { server, inspect, client });
  }, 60_000);

  afterAll(async () => {
    at.inspect.disconnect();
    at.client.disconnect();
    await at.server.stop();
  });

  return at;
}

const ledgers: RedisLedger[] = [];

afterEach(async () => {
  await Promise.all(ledgers.splice(0).map((ledger) => ledger.close()));
});

/** A ledger that is closed after the test. */
export function openUnstarted(
  redis: RedisLedgerOptions['redis'],
  over: Partial<RedisLedgerOptions> = {},
): RedisLedger {
  const ledger = new RedisLedger({
    redis,
    settings: SETTINGS,
    clock: systemClock,
    warn: () => undefined,
    ...over,
  });
  ledgers.push(ledger);
  return ledger;
}

export function open(redis: RedisLedgerOptions['redis'], over?: Partial<RedisLedgerOptions>): RedisLedger {
  const ledger = openUnstarted(redis, over);
  ledger.start();
  return ledger;
}

/** The fleet of a process whose ledger is closed after the test. */
export function openFleet(
  redis: RedisLedgerOptions['redis'],
  over: Partial<RedisLedgerOptions> = {},
): RedisFleet {
  const { clock = systemClock, warn = () => undefined } = over;
  return new RedisFleet(open(redis, over), clock, warn);
}

/** A claim of a job that is due: by enough that this process may be a little wrong about the server's time. */
export function copy(tube: TubeLedger, id: string, token = 'a'): ClaimRequest {
  return { id, generation: 0, born: 0, due: Math.floor(tube.now()) - 1_000, token, attempts: 10 };
}

export function claim(tube: TubeLedger, id: string, token?: string) {
  return tube.claim([copy(tube, id, token)]);
}

/** Records the events of a tube. */
export function watch(tube: TubeLedger) {
  const events: string[] = [];
  tube.listen({ away: (error) => events.push(`away: ${error.message}`), back: () => events.push('back') });
  return events;
}

export const away = (tube: TubeLedger) => eventually('the ledger is away', () => tube.away);
export const back = (tube: TubeLedger) => eventually('the ledger is back', () => !tube.away);
