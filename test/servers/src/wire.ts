// Commands over a connection that closes after the replies: what a person does with netcat.
import { connect } from 'node:net';
import { connect as connectTls } from 'node:tls';

export interface Address {
  readonly host: string;
  readonly port: number;
  /** Of a socket of the machine, which comes before host and port. */
  readonly path?: string | undefined;
  /** What a client needs, as PEM texts, if the server takes TLS. */
  readonly tls?: { readonly ca: string; readonly cert: string; readonly key: string } | undefined;
}

/** Milliseconds. */
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
export function askAll(
  { host, port, path, tls }: Address,
  commands: readonly string[],
  limit = REPLY_LIMIT,
): Promise<string[]> {
  return new Promise((resolve, reject) => {
    let rest = '';
    const replies: string[] = [];
    const text = commands.map((command) => `${command}\r\n`).join('');
    const place = path === undefined ? { host, port } : { path };
    const send = () => socket.write(text, 'latin1');
    // Its certificate may be for any name.
    const named = { checkServerIdentity: () => undefined };
    const socket = tls ? connectTls({ ...place, ...tls, ...named }, send) : connect(place, send);
    const timer = setTimeout(() => socket.destroy(new Error(`no reply in ${limit} ms`)), limit);
    socket.setEncoding('latin1');
    socket.on('data', (bytes: string) => {
      rest += bytes;
      for (let end = endOfReply(rest); end !== undefined; end = endOfReply(rest)) {
        replies.push(rest.slice(0, end - 2));
        rest = rest.slice(end);
      }
      if (replies.length < commands.length) return;
      resolve(replies);
      socket.destroy();
    });
    socket.on('error', reject);
    socket.on('end', () => socket.destroy(new Error('the server closed the connection before it replied')));
    socket.on('close', () => clearTimeout(timer));
  });
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
