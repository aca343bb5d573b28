import type { Redis } from 'ioredis';
import { detached } from 'nest-handlers/context';
import { printable, toError } from '../../errors.js';
import type { Clock } from 'nest-handlers/time';
import { withinLimit } from '../../time/call-limit.js';
import type { RedisView } from '../ledger-view.js';
import { CALL_LIMIT, isRefusal } from './connection.js';
import { infoValue, unchecked, unfitness } from './server-check.js';

/** Asks one server now how it is, and why it is unfit. Takes at most as long as a call, and never rejects. */
export async function viewOf(
  server: Redis,
  clock: Clock,
): Promise<{ server: RedisView; problems: readonly string[] }> {
  const address = addressOf(server);
  const sent = clock.now();
  try {
    const info = await withinLimit(
      clock,
      CALL_LIMIT,
      detached(() => server.info()),
    );
    const roundTrip = clock.now() - sent;
    return { server: { address, up: true, roundTrip, ...factsOf(info) }, problems: unfitness(info) };
  } catch (thrown) {
    const error = toError(thrown);
    const reason = printable(error.message);
    if (!isRefusal(error)) return { server: { address, up: false, reason }, problems: [] };
    const roundTrip = clock.now() - sent;
    return { server: { address, up: true, reason, roundTrip }, problems: [unchecked(error)] };
  }
}

/** What INFO tells. */
export function factsOf(info: string): Omit<RedisView, 'address' | 'up'> {
  const text = (name: string) => infoValue(info, name);
  const version = text('redis_version');
  const role = text('role');
  const memory = Number(text('used_memory'));
  const memoryLimit = Number(text('maxmemory'));
  const policy = text('maxmemory_policy');
  const appendOnly = text('aof_enabled');
  return {
    ...(version !== undefined && { version }),
    ...(role !== undefined && { role }),
    ...(memory > 0 && { memory }),
    ...(memoryLimit > 0 && { memoryLimit }),
    ...(policy !== undefined && { policy }),
    ...(appendOnly !== undefined && { appendOnly: appendOnly === '1' }),
  };
}

function addressOf({ options, stream }: Redis): string {
  const { path, sentinels, name } = options;
  if (path !== undefined) return path;
  // Where sentinels lead to, only the connection knows.
  const { remoteAddress, remotePort } = (stream as Redis['stream'] | undefined) ?? {};
  if (sentinels && remoteAddress === undefined) return `the master ${name}`;
  const { host = 'localhost', port = 6379 } = sentinels ? { host: remoteAddress, port: remotePort } : options;
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
