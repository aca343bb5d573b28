import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

export interface Target {
  readonly host: string;
  readonly port: number;
}

/** A proxy to a server. It can be cut, drop all bytes, or lead to another server. */
export class Proxy {
  readonly host = '127.0.0.1';
  private readonly sockets = new Set<Socket>();
  private state: 'open' | 'cut' | 'swallowing' = 'open';

  private constructor(
    private readonly server: Server,
    private target: Target,
  ) {}

  /** Listens on any free port. */
  static async to(target: Target): Promise<Proxy> {
    const server = createServer();
    const proxy = new Proxy(server, target);
    server.on('connection', (near: Socket) => proxy.join(near));
    server.listen(0, proxy.host);
    await once(server, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** `host:port` */
  get endpoint(): string {
    return `${this.host}:${this.port}`;
  }

  /** Ends all connections, and ends each new one at once. */
  cut(): void {
    this.state = 'cut';
    for (const socket of this.sockets) socket.destroy();
  }

  /** Drops all bytes of old and new connections, in both directions. The connections stay open. */
  swallow(): void {
    this.state = 'swallowing';
  }

  /** Lets new connections work again. Ends connections that dropped bytes. */
  restore(): void {
    if (this.state === 'swallowing') this.cut();
    this.state = 'open';
  }

  /** Ends all connections. New ones lead to another server. */
  lead(target: Target): void {
    this.cut();
    this.target = target;
    this.state = 'open';
  }

  async stop(): Promise<void> {
    this.cut();
    this.server.close();
    await once(this.server, 'close');
  }

  private join(near: Socket): void {
    if (this.state === 'cut') return void near.destroy();
    const far = connect(this.target);
    for (const [from, into] of [
      [near, far],
      [far, near],
    ] as const) {
      this.sockets.add(from);
      from.setNoDelay(true);
      from.on('data', (bytes) => {
        if (this.state !== 'swallowing' && !into.destroyed) into.write(bytes);
      });
      from.on('error', () => into.destroy());
      from.on('close', () => {
        this.sockets.delete(from);
        into.destroy();
      });
    }
  }
}
