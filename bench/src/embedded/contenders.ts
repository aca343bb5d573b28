// The nodes that are compared. Each is empty, and has a connection of a bare client.
import { EmbeddedNode } from 'nest-dq/embedded';
import { startBeanstalkd } from 'test-servers';
import { residentSize } from '../memory.js';
import { RawConnection } from '../raw/raw-connection.js';
import type { NodeServer } from '../servers.js';
import { startServed } from '../systems/served.js';

export interface Contender {
  readonly connection: RawConnection;
  /** The resident memory of its process, in bytes. */
  readonly memory: () => Promise<number>;
  readonly stop: () => Promise<void>;
}

/** The embedded node in this very process. */
async function inProcess(): Promise<Contender> {
  const node = await EmbeddedNode.open();
  return {
    connection: RawConnection.over(node.dial()),
    memory: () => residentSize(process.pid),
    stop: () => node.close(),
  };
}

async function served(keeps: 'memory' | 'folder'): Promise<Contender> {
  return reach(await startServed(keeps));
}

/** A real beanstalkd, in memory, or with a binlog that it syncs after each write, so that a stored job is durable. */
async function beanstalkd(keeps: 'memory' | 'folder'): Promise<Contender> {
  return reach(await startBeanstalkd(keeps === 'memory' ? { binlog: false } : { args: ['-f', '0'] }));
}

/** Connects to a server in another process. */
async function reach(server: NodeServer): Promise<Contender> {
  const connection = await RawConnection.open(server.endpoint);
  return {
    connection,
    memory: () => residentSize(server.pid),
    stop: async () => {
      connection.close();
      await server.stop();
    },
  };
}

const CONTENDERS = {
  'in the process': inProcess,
  'served in memory': () => served('memory'),
  'served in a folder': () => served('folder'),
  'beanstalkd in memory': () => beanstalkd('memory'),
  'beanstalkd on disk': () => beanstalkd('folder'),
};

export type ContenderName = keyof typeof CONTENDERS;

export async function withContender<T>(
  name: ContenderName,
  use: (contender: Contender) => Promise<T>,
): Promise<T> {
  const contender = await CONTENDERS[name]();
  try {
    return await use(contender);
  } finally {
    await contender.stop();
  }
}
