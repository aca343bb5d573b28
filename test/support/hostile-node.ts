import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';

/** The reply of a hostile node to a command line. Undefined if it stays silent. */
export type Says = (line: string) => string | Buffer | undefined;

const STATS = '---\nid: 0123456789abcdef\nmax-job-size: 65535\n';

/** As `OK` of a command that gets a text. */
export function ok(text: string): string {
  return `OK ${text.length}\r\n${text}\r\n`;
}

/** The greeting of a node that nobody suspects. */
export const GREETING = ok(STATS);

/** A server on a port of its own that answers as no beanstalkd does. */
export class HostileNode {
  private readonly sockets = new Set<Socket>();
  /** Connections that the other side has ended. */
  ended = 0;

  private constructor(private readonly server: ReturnType<typeof createServer>) {}

  static async start(says: Says): Promise<HostileNode> {
    const server = createServer();
    const node = new HostileNode(server);
    server.on('connection', (socket) => node.serve(socket, says));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return node;
  }

  get endpoint(): string {
    return `127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
    await once(this.server, 'close');
  }

  private serve(socket: Socket, says: Says): void {
    let text = '';
    this.sockets.add(socket);
    socket.on('error', () => undefined); // it is cut while it is written to
    socket.on('close', () => {
      this.sockets.delete(socket);
      this.ended++;
    });
    socket.on('data', (bytes: Buffer) => {
      text += bytes.toString('latin1');
      for (let end = text.indexOf('\r\n'); end >= 0; end = text.indexOf('\r\n')) {
        const reply = says(text.slice(0, end));
        text = text.slice(end + 2);
        if (reply !== undefined) socket.write(reply as string, 'latin1');
      }
    });
  }
}
