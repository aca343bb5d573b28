import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { EmbeddedNode } from 'nest-dq/embedded';
import { startBeanstalkd } from 'test-servers';
import type { NodeKind } from './transcript.js';

/** A node with nothing in it yet, and how to reach it. */
export interface WireNode {
  readonly kind: NodeKind;
  dial(): Promise<Duplex>;
  drain(): void;
  stop(): Promise<void>;
}

export type StartNode = (options?: { maxJobSize?: number }) => Promise<WireNode>;

export const startReal: StartNode = async ({ maxJobSize } = {}) => {
  const server = await startBeanstalkd({
    binlog: false,
    ...(maxJobSize === undefined ? {} : { maxJobSize }),
  });
  return {
    kind: 'beanstalkd',
    dial: () => dialTcp(server),
    drain: () => void process.kill(server.pid, 'SIGUSR1'),
    stop: () => server.stop(),
  };
};

export const startEmbedded: StartNode = async (options) => {
  const node = await EmbeddedNode.open(options);
  return {
    kind: 'embedded',
    dial: () => Promise.resolve(node.dial()),
    drain: () => node.drain(),
    stop: () => node.close(),
  };
};

export const startEmbeddedOnDisk: StartNode = async (options) => {
  const dir = await mkdtemp(join(tmpdir(), 'nest-dq-wire-'));
  const node = await EmbeddedNode.open({ ...options, dir });
  return {
    kind: 'embedded',
    dial: () => Promise.resolve(node.dial()),
    drain: () => node.drain(),
    stop: async () => {
      await node.close();
      await rm(dir, { recursive: true });
    },
  };
};

export const startEmbeddedServer: StartNode = async (options) => {
  const node = await EmbeddedNode.open(options);
  const address = await node.listen({ port: 0 });
  return {
    kind: 'embedded',
    dial: () => dialTcp(address),
    drain: () => node.drain(),
    stop: () => node.close(),
  };
};

async function dialTcp({ host, port }: { readonly host: string; readonly port: number }): Promise<Duplex> {
  const socket = connect({ host, port, noDelay: true, allowHalfOpen: true });
  await once(socket, 'connect');
  return socket;
}
