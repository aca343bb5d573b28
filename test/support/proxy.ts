import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** One process's way to a server, which can be cut without harm to the others'. */
export class Proxy {
  private readonly sockets = new Set<Socket>();
  private isCut = false;

  private constructor(private readonly server: Server) {}

  /** Listens on a port of the system's choice. */
  static async to(target: { readonly host: string; readonly port: number }): Promise<Proxy> {
    const server = createServer();
    const proxy = new Proxy(server);
    server.on('connection', (near: Socket) => {
      if (proxy.isCut) return void near.destroy();
      const far = connect(target);
      for (const [from, into] of [
        [near, far],
        [far, near],
      ] as const) {
        proxy.sockets.add(from);
        from.on('error', () => into.destroy());
        from.on('close', () => {
          proxy.sockets.delete(from);
          into.destroy();
        });
        from.pipe(into);
      }
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** Ends all connections, and each new one at once. */
  cut(): void {
    this.isCut = true;
    for (const socket of this.sockets) socket.destroy();
  }

  restore(): void {
    this.isCut = false;
  }

  async close(): Promise<void> {
    this.cut();
    this.server.close();
    await once(this.server, 'close');
  }
}
