// One question and one answer over a socket of its own: all that is needed to see whether a server is up.
import { connect } from 'node:net';

/** Bulk replies of both protocols: `$n` of Redis, `OK n` and `FOUND id n` of beanstalkd. A body and CRLF follow. */
const WITH_BODY = /^(?:\$|OK |FOUND \d+ |RESERVED \d+ )(\d+)\r\n/;

/**
 * Sends one command to 127.0.0.1 (CRLF is added) and gives the whole reply, a Latin-1 text without its last CRLF.
 * Understands replies of one line and bulk replies, not arrays.
 * Rejects when there is no connection, or no complete reply after `limit` milliseconds.
 */
export function ask(port: number, command: string, limit: number): Promise<string> {
  return new Promise((resolve, reject) => {
    let reply = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(`${command}\r\n`));
    const timer = setTimeout(() => socket.destroy(new Error(`no reply in ${limit} ms`)), limit);
    socket.setEncoding('latin1');
    socket.on('data', (text: string) => {
      reply += text;
      const end = lengthOf(reply);
      if (end === undefined || reply.length < end) return;
      resolve(reply.slice(0, end - 2));
      socket.destroy();
    });
    socket.on('error', reject);
    socket.on('end', () => socket.destroy(new Error('the server closed the connection before it replied')));
    socket.on('close', () => clearTimeout(timer));
  });
}

/** How long the reply is with its CRLF; undefined while its first line is incomplete. */
function lengthOf(reply: string): number | undefined {
  const line = reply.indexOf('\r\n');
  if (line < 0) return undefined;
  const body = WITH_BODY.exec(reply);
  return line + 2 + (body ? Number(body[1]) + 2 : 0);
}
