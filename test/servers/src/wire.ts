// Questions and answers over a connection that lives no longer than they do: what a person does with netcat.
import { connect } from 'node:net';

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** Milliseconds. */
const REPLY_LIMIT = 30_000;
/** A reply with a body of so many bytes and CRLF: `$n` of Redis, the others of beanstalkd. */
const WITH_BODY = /^(?:\$|OK |FOUND \d+ |RESERVED \d+ )(\d+)\r\n/;

/**
 * Sends one command of beanstalkd or Redis, to which CRLF is added, and gives the reply without its last CRLF, as a Latin-1
 * text. A reply is one line, or a line and a body; it is not an array. Rejects when there is no connection, or no reply
 * within `limit` milliseconds.
 */
export async function ask(server: Address, command: string, limit = REPLY_LIMIT): Promise<string> {
  const [reply] = await askAll(server, [command], limit);
  return reply!;
}

/** The same for some commands, which are sent together over one connection. */
export function askAll(
  { host, port }: Address,
  commands: readonly string[],
  limit = REPLY_LIMIT,
): Promise<string[]> {
  return new Promise((resolve, reject) => {
    let rest = '';
    const replies: string[] = [];
    const text = commands.map((command) => `${command}\r\n`).join('');
    const socket = connect({ host, port }, () => socket.write(text, 'latin1'));
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

/** Stores a body as it is in a beanstalkd, due now. */
export async function putRaw(node: Address, tube: string, body: string): Promise<void> {
  const bytes = Buffer.from(body).toString('latin1');
  const [, reply] = await askAll(node, [`use ${tube}`, `put 0 0 60 ${bytes.length}\r\n${bytes}`]);
  if (!reply!.startsWith('INSERTED')) throw new Error(`a put was answered ${reply}`);
}

/** Reads a counter of a beanstalkd's `stats`, such as `cmd-release`. */
export type NodeStats = (name: string) => number;

/** What a beanstalkd counts. Rejects while it does not answer. */
export async function nodeStats(node: Address): Promise<NodeStats> {
  const stats = await ask(node, 'stats');
  return (name) => {
    const value = new RegExp(`^${name}: (\\d+)$`, 'm').exec(stats)?.[1];
    if (value === undefined) throw new Error(`the stats of a beanstalkd have no ${name}`);
    return Number(value);
  };
}

/** One of them. */
export async function nodeCounter(node: Address, name: string): Promise<number> {
  return (await nodeStats(node))(name);
}

/** How many copies a beanstalkd holds: those that can still surface, and the buried ones. Rejects while it does not answer. */
export async function nodeCopies(node: Address): Promise<{ live: number; buried: number }> {
  const stats = await nodeStats(node);
  const [ready, reserved, delayed, buried] = ['ready', 'reserved', 'delayed', 'buried'].map((state) =>
    stats(`current-jobs-${state}`),
  ) as [number, number, number, number];
  return { live: ready + reserved + delayed, buried };
}
