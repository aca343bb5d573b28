// Writes as go-queue's dq (v1.2) does:
// dq/producernode.go puts `<time in ns>/<payload>` with priority 2 and 5 s to run; dq/consumer.go locks by its MD5.
import { createHash } from 'node:crypto';
import { connect } from 'node:net';

/** Nanoseconds, as go-queue writes them. */
export const stamp = (ms: number) => `${BigInt(Math.round(ms)) * 1_000_000n}`;

export const lockOf = (body: string) => createHash('md5').update(body).digest('hex');

/** Sends commands on a connection of its own, and reads until the answer that is wanted. */
export async function exchange(
  endpoint: string,
  commands: string,
  wanted: RegExp,
  encoding: BufferEncoding = 'utf8',
): Promise<RegExpExecArray> {
  const [host, port] = endpoint.split(':') as [string, string];
  const socket = connect({ host, port: Number(port) });
  socket.write(commands, encoding);
  let said = '';
  for await (const bytes of socket) {
    said += (bytes as Buffer).toString(encoding);
    const answer = wanted.exec(said);
    if (answer) return answer;
  }
  throw new Error(`${endpoint} said ${said}`);
}

/**
 * Stores a job: the same bytes on all nodes. Returns its references, as go-queue gives them.
 *
 * @param delay seconds
 */
export async function storeAsGoQueue(
  tube: string,
  body: string,
  delay: number,
  nodes: readonly { readonly endpoint: string }[],
): Promise<string> {
  const ids: string[] = [];
  for (const { endpoint } of nodes) {
    const put = `put 2 ${delay} 5 ${Buffer.byteLength(body)}\r\n${body}\r\n`;
    const [, id] = await exchange(endpoint, `use ${tube}\r\n${put}`, /INSERTED (\d+)\r\n/);
    ids.push(`${endpoint}/${tube}/${id}`);
  }
  return ids.join(',');
}
