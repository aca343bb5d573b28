// A short talk with a beanstalkd over a connection of its own, as a person with netcat would have it.
import { connect } from 'node:net';

/** Milliseconds. */
const REPLY_LIMIT = 30_000;
/** A reply with a body, of so many bytes. */
const WITH_BODY = /^(?:OK|FOUND \d+) (\d+)\r\n/;

export interface NodeAddress {
  readonly host: string;
  readonly port: number;
}

/** The replies to some commands, as Latin-1 texts, with bodies. Rejects when one of them has none. */
export function askNode({ host, port }: NodeAddress, ...commands: readonly string[]): Promise<string[]> {
  return new Promise((resolve, reject) => {
    let rest = '';
    const replies: string[] = [];
    const text = commands.map((command) => `${command}\r\n`).join('');
    const socket = connect({ host, port }, () => socket.write(text, 'latin1'));
    socket.setEncoding('latin1');
    socket.setTimeout(REPLY_LIMIT, () => socket.destroy(new Error(`no reply in ${REPLY_LIMIT} ms`)));
    socket.on('data', (bytes: string) => {
      rest += bytes;
      for (let end = endOfReply(rest); end !== undefined; end = endOfReply(rest)) {
        replies.push(rest.slice(0, end));
        rest = rest.slice(end);
      }
      if (replies.length < commands.length) return;
      resolve(replies);
      socket.destroy();
    });
    socket.on('error', reject);
    socket.on('end', () => socket.destroy(new Error('closed before the reply')));
  });
}

/** Stores a body as it is, due now, where whoever reserves in the tube gets it. */
export async function putRaw(node: NodeAddress, tube: string, body: string): Promise<void> {
  const bytes = Buffer.from(body).toString('latin1');
  const [, reply] = await askNode(node, `use ${tube}`, `put 0 0 60 ${bytes.length}\r\n${bytes}`);
  if (!reply!.startsWith('INSERTED')) throw new Error(`a put was answered ${reply}`);
}

/** Where the first reply ends; undefined while it is not complete. */
function endOfReply(text: string): number | undefined {
  const line = text.indexOf('\r\n');
  if (line < 0) return undefined;
  const body = WITH_BODY.exec(text);
  const end = line + 2 + (body ? Number(body[1]) + 2 : 0);
  return end <= text.length ? end : undefined;
}
