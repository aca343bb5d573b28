// Commands over a connection that closes after the replies: what a person does with netcat.
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';

export interface Address {
  readonly host: string;
  readonly port: number;
  /** Path of a Unix socket, which takes precedence over host and port. */
  readonly path?: string | undefined;
  /** TLS options of a client, as PEM strings, if the server takes TLS. */
  readonly tls?: { readonly ca: string; readonly cert: string; readonly key: string } | undefined;
}

/** Time limit of a reply, in ms. */
const REPLY_LIMIT = 30_000;
/** The first line of a reply with a body, and the length of the body: `$n` of Redis, the others of beanstalkd. */
const WITH_BODY = /^(?:\$|OK |FOUND \d+ |RESERVED \d+ )(\d+)\r\n/;

/**
 * Sends one command to a beanstalkd or a Redis, and adds its CRLF. Resolves with the reply as Latin-1 text, without its last
 * CRLF. The reply may be one line, or a line and a body, but no array. Rejects if there is no connection, or no reply within
 * `limit` milliseconds.
 */
export async function ask(server: Address, command: string, limit = REPLY_LIMIT): Promise<string> {
  const [reply] = await askAll(server, [command], limit);
  return reply!;
}

/** The same for several commands, which it sends together over one connection. */
export async function askAll(
  server: Address,
  commands: readonly string[],
  limit = REPLY_LIMIT,
): Promise<string[]> {
  const connection = new WireConnection(server);
  try {
    return await connection.ask(commands, limit);
  } finally {
    connection.close();
  }
}

interface Asked {
  readonly count: number;
  readonly replies: string[];
  readonly resolve: (replies: string[]) => void;
  readonly reject: (error: Error) => void;
}

/** A connection to a beanstalkd or a Redis that stays open until `close`. If the server ends it, each call rejects. */
export class WireConnection {
  private readonly socket: Socket;
  private readonly asked: Asked[] = [];
  private rest = '';
  private failure: Error | undefined;

  constructor({ host, port, path, tls }: Address) {
    const place = path === undefined ? { host, port } : { path };
    // Its certificate may be for any name.
    const named = { checkServerIdentity: () => undefined };
    this.socket = tls ? connectTls({ ...place, ...tls, ...named }) : connect(place);
    this.socket.setEncoding('latin1');
    this.socket.on('data', (bytes: string) => this.came(bytes));
    this.socket.on('error', (error) => this.fail(error));
    this.socket.on('close', () => this.fail(new Error('the server closed the connection before it replied')));
  }

  /** Sends commands together. Resolves with their replies, as `ask` does. */
  ask(commands: readonly string[], limit = REPLY_LIMIT): Promise<string[]> {
    if (this.failure) return Promise.reject(this.failure);
    if (commands.length === 0) return Promise.resolve([]);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.socket.destroy(new Error(`no reply in ${limit} ms`)), limit);
      const settle = <T>(how: (value: T) => void) => {
        return (value: T) => {
          clearTimeout(timer);
          how(value);
        };
      };
      const [count, replies] = [commands.length, [] as string[]];
      this.asked.push({ count, replies, resolve: settle(resolve), reject: settle(reject) });
      this.socket.write(commands.map((command) => `${command}\r\n`).join(''), 'latin1');
    });
  }

  close(): void {
    this.socket.destroy();
  }

  private came(bytes: string): void {
    this.rest += bytes;
    for (let end = endOfReply(this.rest); end !== undefined; end = endOfReply(this.rest)) {
      const first = this.asked[0];
      if (!first)
        return this.fail(new Error(`a reply that nobody asked for: ${this.rest.slice(0, end - 2)}`));
      first.replies.push(this.rest.slice(0, end - 2));
      this.rest = this.rest.slice(end);
      if (first.replies.length === first.count) this.asked.shift()!.resolve(first.replies);
    }
  }

  private fail(error: Error): void {
    this.failure ??= error;
    for (const { reject } of this.asked.splice(0)) reject(this.failure);
  }
}

/** Undefined while the first reply is not complete. */
function endOfReply(text: string): number | undefined {
  const line = text.indexOf('\r\n');
  if (line < 0) return undefined;
  const body = WITH_BODY.exec(text);
  const end = line + 2 + (body ? Number(body[1]) + 2 : 0);
  return end <= text.length ? end : undefined;
}

/** Stores this body, unchanged and due now, in a beanstalkd. */
export async function putRaw(node: Address, tube: string, body: string): Promise<void> {
  const bytes = Buffer.from(body).toString('latin1');
  const [, reply] = await askAll(node, [`use ${tube}`, `put 0 0 60 ${bytes.length}\r\n${bytes}`]);
  if (!reply!.startsWith('INSERTED')) throw new Error(`a put was answered ${reply}`);
}

/** Reads a counter of a beanstalkd's `stats`, such as `cmd-release`. */
export type NodeStats = (name: string) => number;

/** The counters of a beanstalkd. Rejects if it does not answer. */
export async function nodeStats(node: Address): Promise<NodeStats> {
  const stats = await ask(node, 'stats');
  return (name) => {
    const value = new RegExp(`^${name}: (\\d+)$`, 'm').exec(stats)?.[1];
    if (value === undefined) throw new Error(`the stats of a beanstalkd have no ${name}`);
    return Number(value);
  };
}

/** One counter of a beanstalkd. Rejects if it does not answer. */
export async function nodeCounter(node: Address, name: string): Promise<number> {
  return (await nodeStats(node))(name);
}

/** The number of copies on a beanstalkd: those that can still surface, and buried ones. Rejects if it does not answer. */
export async function nodeCopies(node: Address): Promise<{ live: number; buried: number }> {
  const stats = await nodeStats(node);
  const [ready, reserved, delayed, buried] = ['ready', 'reserved', 'delayed', 'buried'].map((state) =>
    stats(`current-jobs-${state}`),
  ) as [number, number, number, number];
  return { live: ready + reserved + delayed, buried };
}
