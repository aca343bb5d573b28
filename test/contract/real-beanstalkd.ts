// A real beanstalkd, and connections of the client to it.
import net from 'node:net';
import { afterAll, afterEach, beforeAll } from '@jest/globals';
import {
  Connection,
  type ConnectionOptions,
  type Reserved,
  type Stats,
} from 'nest-dq/src/beanstalk/connection.js';
import { systemClock } from 'nest-handlers/time';
import { type BeanstalkdServer, startBeanstalkd } from 'test-servers';

export const NOW = { priority: 10, delay: 0, ttr: 60 };
export const LATER = { ...NOW, delay: 3_600 };
/** A safety net against a slow machine; no test waits for it. */
export const PATIENCE = 10_000;

/** For all tests of a file; its connections are closed after each test. */
export function realBeanstalkd() {
  let server: BeanstalkdServer;
  const open: Connection[] = [];
  let tubes = 0;

  beforeAll(async () => {
    server = await startBeanstalkd();
  }, 60_000);

  afterEach(() => {
    for (const connection of open.splice(0)) connection.close();
  });

  afterAll(() => server.stop());

  function connect(options: Partial<ConnectionOptions> = {}): Connection {
    const stream = net.connect(server.port, server.host);
    const connection = new Connection(stream, { clock: systemClock, deadline: PATIENCE, ...options });
    open.push(connection);
    return connection;
  }

  /** A connection that watches one new tube alone. */
  async function worker(): Promise<{ connection: Connection; tube: string }> {
    const connection = connect();
    const tube = `tube-${++tubes}`;
    await connection.ask<number>((done) => connection.watch(tube, done));
    await connection.ask<number>((done) => connection.ignore('default', done));
    return { connection, tube };
  }

  return { server: () => server, connect, worker };
}

export function put(
  connection: Connection,
  tube: string,
  body: Buffer | string = 'x',
  options = NOW,
): Promise<string> {
  return connection
    .ask<{ id: string }>((done) => connection.put(tube, [Buffer.from(body)], options, done))
    .then(({ id }) => id);
}

export async function reserve(connection: Connection): Promise<Reserved> {
  const reserved = await connection.ask<Reserved | string>((done) => connection.reserveWithTimeout(0, done));
  if (typeof reserved === 'string') throw new Error(`nothing to reserve: ${reserved}`);
  return reserved;
}

export async function stateOf(connection: Connection, id: string): Promise<string | undefined> {
  const stats = await connection.ask<Stats | 'NOT_FOUND'>((done) => connection.statsJob(id, done));
  return stats === 'NOT_FOUND' ? undefined : stats['state'];
}
