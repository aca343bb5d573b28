// The place of a server: a port and a folder, which stay its own while it is killed and restarted.
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * The even ports from `first` to `last`. They are below the ephemeral ports of Linux (32768 and above). A client that dials
 * an ephemeral port again and again while no server listens there may connect to itself.
 */
export interface PortRange {
  readonly first: number;
  readonly last: number;
}

export interface Place {
  readonly port: number;
  readonly folder: string;
  /** Gives the port back and removes the folder. */
  leave(): Promise<void>;
}

/**
 * Places whose ports no user of this package has. Begins at a random port, and gives each port once.
 * While a server is down, its port looks free. Another server could take it, and get the clients of the first one. So the
 * owner of a port also listens on the odd port above it, which the system frees even if the owner is killed.
 */
export async function* places(name: string, { first, last }: PortRange): AsyncGenerator<Place, void, void> {
  const count = Math.floor((last - first) / 2) + 1;
  const start = Math.floor(Math.random() * count);
  for (let tried = 0; tried < count; tried++) {
    const port = first + 2 * ((start + tried) % count);
    const claim = await listen(port + 1);
    if (claim) yield await settle(name, port, claim);
  }
}

async function settle(name: string, port: number, claim: Server): Promise<Place> {
  const folder = await mkdtemp(join(tmpdir(), `${name}-`));
  return {
    port,
    folder,
    async leave() {
      claim.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Undefined when the port is taken. */
function listen(port: number): Promise<Server | undefined> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.unref();
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(undefined);
      else reject(error);
    });
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => resolve(server));
  });
}
