import type { Redis } from 'ioredis';
import { printable, toError } from '../../errors.js';
import type { Clock } from 'nest-handlers/time';
import { withinLimit } from '../../time/call-limit.js';
import { CALL_LIMIT_MS, isCluster, isRefusal, isUnsent, type LedgerConnection } from './connection.js';
import { detached } from 'nest-handlers/context';
import type { RedisView } from '../ledger-view.js';
import { unfitSettings, unfitText } from '../unfit-settings.js';

/** Warns of unfit settings once, as soon as the servers report them. */
export class ServerCheck {
  private done = false;

  constructor(
    private readonly connection: LedgerConnection,
    private readonly clock: Clock,
    private readonly warn: (problem: string) => void,
  ) {}

  async run(): Promise<void> {
    if (this.done) return;
    this.done = true;
    const { connection } = this;
    const problems = new Set<string>();
    for (const server of serversOf(connection)) {
      try {
        const info = await withinLimit(this.clock, CALL_LIMIT_MS, server.info());
        for (const problem of unfitness(info)) problems.add(problem);
      } catch (thrown) {
        const error = toError(thrown);
        if (isRefusal(error)) problems.add(unchecked(error));
        else this.done = false; // the server went away: the check runs again with the next connection
      }
    }
    for (const problem of problems) this.warn(problem);
  }
}

/** Each master separately. */
export function serversOf(connection: LedgerConnection): Redis[] {
  return isCluster(connection) ? connection.nodes('master') : [connection as Redis];
}

/** The value of a line of INFO. */
export function infoValue(info: string, name: string): string | undefined {
  const value = new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
  return value === undefined ? undefined : printable(value);
}

/** Returns why a server is unfit for the ledger according to its INFO, one sentence for each reason. */
export function unfitness(info: string): string[] {
  return unfitSettings(factsOf(info)).map(unfitText);
}

/** The warning about a server whose settings this user may not read. */
export function unchecked(error: Error): string {
  return unfitText({ is: 'unreadable', reason: printable(error.message) });
}

/**
 * Inspects one server now, and reports why it is unfit. Takes at most as long as a call, and never rejects.
 * @param problem Why there is no connection: ioredis's message about an unsent call doesn't say.
 */
export async function viewOf(
  server: Redis,
  clock: Clock,
  problem: () => string,
): Promise<{ server: RedisView; problems: readonly string[] }> {
  const address = addressOf(server);
  const sent = clock.now();
  try {
    const info = await withinLimit(
      clock,
      CALL_LIMIT_MS,
      detached(() => server.info()),
    );
    const roundTrip = clock.now() - sent;
    return { server: { address, up: true, roundTrip, ...factsOf(info) }, problems: unfitness(info) };
  } catch (thrown) {
    const error = toError(thrown);
    const reason = isUnsent(error) ? problem() : printable(error.message);
    if (!isRefusal(error)) return { server: { address, up: false, reason }, problems: [] };
    const roundTrip = clock.now() - sent;
    return { server: { address, up: true, reason, roundTrip }, problems: [unchecked(error)] };
  }
}

/** Parses the output of INFO. */
export function factsOf(info: string): Omit<RedisView, 'address' | 'up'> {
  const text = (name: string) => infoValue(info, name);
  const version = text('redis_version');
  const role = text('role');
  const memory = Number(text('used_memory'));
  const memoryLimit = Number(text('maxmemory'));
  const machineMemory = Number(text('total_system_memory'));
  const policy = text('maxmemory_policy');
  const appendOnly = text('aof_enabled');
  return {
    ...(version !== undefined && { version }),
    ...(role !== undefined && { role }),
    ...(memory > 0 && { memory }),
    ...(memoryLimit > 0 && { memoryLimit }),
    ...(machineMemory > 0 && { machineMemory }),
    ...(policy !== undefined && { policy }),
    ...(appendOnly !== undefined && { appendOnly: appendOnly === '1' }),
  };
}

function addressOf({ options, stream }: Redis): string {
  const { path, sentinels, name } = options;
  if (path !== undefined) return path;
  // Only the connection knows where sentinels lead.
  const { remoteAddress, remotePort } = (stream as Redis['stream'] | undefined) ?? {};
  if (sentinels && remoteAddress === undefined) return `the master ${name}`;
  const { host = 'localhost', port = 6379 } = sentinels ? { host: remoteAddress, port: remotePort } : options;
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
