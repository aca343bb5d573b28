import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

export interface Target {
  readonly host: string;
  readonly port: number;
}

/** A connection of a client, and the one to the server in its name. */
export interface Link {
  readonly client: Socket;
  readonly server: Socket;
}

/** Handler of the bytes of a link. */
export interface Carrier {
  toServer(bytes: Buffer): void;
  toClient(bytes: Buffer): void;
}

/** A proxy to a server. It can be cut, drop all bytes, or lead to another server. */
export class Proxy {
  readonly host = '127.0.0.1';
  private readonly sockets = new Set<Socket>();
  private state: 'open' | 'cut' | 'swallowing' = 'open';

  private constructor(
    private readonly server: Server,
    private target: Target,
    private readonly carry: (link: Link) => Carrier,
  ) {}

  /**
   * Listens on any free port.
   * @param carry Is called for each link. @default bytes are forwarded as they come
   */
  static async to(target: Target, carry = asTheyCome): Promise<Proxy> {
    const server = createServer();
    const proxy = new Proxy(server, target, carry);
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
    const carrier = this.carry({ client: near, server: far });
    for (const [from, into, carry] of [
      [near, far, 'toServer'],
      [far, near, 'toClient'],
    ] as const) {
      this.sockets.add(from);
      from.setNoDelay(true);
      from.on('data', (bytes) => {
        if (this.state !== 'swallowing' && !into.destroyed) carrier[carry](bytes);
      });
      from.on('error', () => into.destroy());
      from.on('close', () => {
        this.sockets.delete(from);
        into.destroy();
      });
    }
  }
}

function asTheyCome({ client, server }: Link): Carrier {
  return {
    toServer: (bytes) => void server.write(bytes),
    toClient: (bytes) => void client.write(bytes),
  };
}
