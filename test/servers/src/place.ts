// Where a server lives: a port and a folder that stay its own while it is killed and started again.
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * The even ports from `first` to `last`. They lie below the ephemeral ports of Linux (32768 and above): a client
 * that keeps dialling a dead ephemeral port of its own machine is at last connected to itself.
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
 * Places whose port nobody of this package holds, from a random port on, each port once.
 * A dead server's port would look free to others, and its clients would then talk to a stranger. So the owner
 * of a port listens on the odd one above it; the system takes that back even from a process that was killed.
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
