import type { Cluster, Redis } from 'ioredis';
import { detached } from 'nest-handlers/context';
import type { Clock } from 'nest-handlers/time';
import { DqError, printable, toError } from '../errors.js';
import { isCluster, ownClient, type RedisSource, withoutArguments } from '../ledger/redis/connection.js';
import { type GoQueueLocks, holderOf, LOCK_TIME_MS, type LockHolder, REVOKED } from './locks.js';

/** Time limit of a call. */
const CALL_LIMIT_MS = 1_000;
/** Pause before loading the script again. */
const LOAD_AGAIN_MS = 100;

/** Returns the key's value, or what was written since there was none. */
const TAKE = `
local owner = redis.call('GET', KEYS[1])
if owner and owner ~= ARGV[1] then return owner end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return ARGV[1]`;

/**
 * go-zero's own locking script, used by go-queue. go-zero calls it by its hash, which a restarted Redis doesn't know. It takes
 * the failures for an overloaded server and calls it less, and meanwhile go-queue deletes jobs without running them. So the
 * script is loaded into Redis here.
 */
const GO_ZERO_LOCK = `if redis.call("GET", KEYS[1]) == ARGV[1] then
    redis.call("SET", KEYS[1], ARGV[1], "PX", ARGV[2])
    return "OK"
else
    return redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2])
end`;

type Client = (Redis | Cluster) & {
  takeGoQueueLock(key: string, owner: string, time: number): Promise<string>;
};

/** Locks in database 0 of go-queue's Redis, under keys without a prefix, where go-queue looks for them. */
export class RedisGoQueueLocks implements GoQueueLocks {
  private readonly client: Client;

  constructor(
    source: RedisSource,
    private readonly clock: Clock,
    /** Warns the operator. */
    private readonly warn: (message: string) => void,
  ) {
    // A late call is harmless: an owner stays the owner of its job.
    const settings = { db: 0, enableOfflineQueue: true, commandTimeout: CALL_LIMIT_MS };
    const client = ownClient(source, settings);
    client.defineCommand('takeGoQueueLock', { numberOfKeys: 1, lua: TAKE });
    // Each call reports its own failure, and the ledger's connection reports that Redis is away.
    client.on('error', () => undefined);
    client.on('ready', () => this.load());
    this.client = client as Client;
  }

  async take(id: string, owner: string): Promise<boolean> {
    return (await this.lock(id, owner, LOCK_TIME_MS)) === owner;
  }

  async revoke(id: string, time: number): Promise<LockHolder> {
    return holderOf(await this.lock(id, REVOKED, Math.ceil(time)));
  }

  async look(id: string): Promise<LockHolder | undefined> {
    const owner = await answered(() => this.client.get(id));
    return owner === null ? undefined : holderOf(owner);
  }

  start(): void {
    if (this.client.status === 'wait') detached(() => this.client.connect()).catch(() => undefined); // it keeps trying
  }

  async close(): Promise<void> {
    this.client.disconnect();
  }

  private lock(id: string, owner: string, time: number): Promise<string> {
    return answered(() => this.client.takeGoQueueLock(id, owner, time));
  }

  private load(): void {
    const { client } = this;
    if (client.status !== 'ready') return; // it is loaded on the next connection
    const masters = isCluster(client) ? client.nodes('master') : [client];
    for (const master of masters) {
      master.script('LOAD', GO_ZERO_LOCK).catch((error: unknown) => {
        const { message } = toError(error);
        if (client.status !== 'ready') return;
        // While loading its file at startup, Redis answers this to everything.
        if (message.startsWith('LOADING')) this.clock.after(LOAD_AGAIN_MS, () => this.load());
        else this.warn(`go-queue's lock script could not be loaded into Redis: ${printable(message)}`);
      });
    }
  }
}

/** The first call connects. Rejects with `DQ_LEDGER_DOWN` if there is no answer. */
async function answered<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await detached(ask);
  } catch (thrown) {
    const cause = withoutArguments(toError(thrown));
    const fact = `the Redis with go-queue's locks does not answer: ${printable(cause.message)}`;
    throw new DqError('DQ_LEDGER_DOWN', fact, { cause, indeterminate: true });
  }
}
