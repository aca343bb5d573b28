import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { expect, it } from '@jest/globals';
import type { Cluster } from 'kafkajs';
// @ts-expect-error: kafkajs has no types for what is inside it
import KafkajsConnection from 'kafkajs/src/network/connection.js';
// @ts-expect-error: kafkajs has no types for what is inside it
import socketFactory from 'kafkajs/src/network/socketFactory.js';
import { systemClock } from 'nest-handlers/time';
import { readByOurselves } from './connections.js';

const ConnectionOf = KafkajsConnection as new (options: object) => {
  readonly socket: Socket;
  connect(): Promise<unknown>;
  disconnect(): Promise<unknown>;
};
const quiet = () => undefined;
const logger = { namespace: () => logger, debug: quiet, info: quiet, warn: quiet, error: quiet };

it('adds no listeners to a closed socket, however often it disconnects', async () => {
  const server = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const makeSocket = (socketFactory as () => object)();
  const options = { host: '127.0.0.1', port, logger, socketFactory: makeSocket, connectionTimeout: 10_000 };
  const connection = new ConnectionOf(options);
  const connectionPoolBuilder = { build: async () => ({ pool: [connection], send: quiet }) };
  const cluster = { connectionPoolBuilder, brokerPool: { createBroker: () => ({}) } };
  readByOurselves(cluster as unknown as Cluster, systemClock);
  await connectionPoolBuilder.build();

  await connection.connect();
  const { socket } = connection;
  if (!socket.closed) await once(socket, 'close');
  for (let times = 0; times < 12; times++) await connection.disconnect();
  expect(socket.listenerCount('connect')).toBe(0);
  server.close();
});
