import { connect } from 'node:net';
import type { BeanstalkdServer } from 'test-servers';

/** What a beanstalkd tells of itself, over a connection that lives no longer than the question. */
export async function nodeStats({ host, port }: BeanstalkdServer): Promise<(name: string) => number> {
  const socket = connect({ host, port });
  socket.setEncoding('utf8');
  socket.write('stats\r\n');
  let text = '';
  for await (const chunk of socket) {
    text += chunk as string;
    if (text.endsWith('\r\n') && text.includes('\n---\n')) break; // leaving the loop destroys the socket
  }
  return (name) => Number(new RegExp(`^${name}: (\\d+)$`, 'm').exec(text)?.[1]);
}
