import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer, type Server as Listener } from 'node:net';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { BeanstalkdServer, startBeanstalkd, type BeanstalkdOptions } from './beanstalkd.js';
import { places } from './place.js';
import { ensureProgram } from './programs.js';
import { startSomewhere } from './server.js';

const PORTS = { first: 20_000, last: 29_990 };
const servers: BeanstalkdServer[] = [];

async function start(options?: BeanstalkdOptions): Promise<BeanstalkdServer> {
  const server = await startBeanstalkd(options);
  servers.push(server);
  return server;
}

/** A listener that does not use `places`, on a port that was free. */
async function strangerOnOurPorts(): Promise<{ port: number; stranger: Listener }> {
  for await (const place of places('stranger', PORTS)) {
    const stranger = createServer().listen(place.port, '127.0.0.1');
    await once(stranger, 'listening');
    await place.leave();
    return { port: place.port, stranger };
  }
  throw new Error('no free port');
}

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop()));
});

describe('startBeanstalkd', () => {
  it('stops a frozen server, twice, and is then gone for good', async () => {
    const server = await start();
    const { pid } = server;
    server.freeze();
    await Promise.all([server.stop(), server.stop()]);
    await server.stop();
    expect(() => process.kill(pid, 0)).toThrow('ESRCH');
    await expect(server.restart()).rejects.toThrow('cannot be restarted');
  });

  it('stops a server that is just restarting', async () => {
    const server = await start();
    await server.kill();
    const restarted = expect(server.restart()).rejects.toThrow(
      /cannot be restarted|exited before it answered/,
    );
    await server.stop();
    await restarted;
    expect(() => process.kill(server.pid, 0)).toThrow('ESRCH');
  });

  it('says what the server said when it does not start', async () => {
    await expect(start({ args: ['-x'] })).rejects.toThrow(/exit status 5.*unknown flag: -x/s);
  });
});

describe('startSomewhere', () => {
  it('passes by a taken port, says so when none is left, and leaves no folder', async () => {
    const program = await ensureProgram('beanstalkd');
    const { port, stranger } = await strangerOnOurPorts();
    const folders: string[] = [];
    const start = startSomewhere('beanstalkd', { first: port, last: port }, (place) => {
      folders.push(place.folder);
      return new BeanstalkdServer(program, place, {});
    });
    try {
      await expect(start).rejects.toThrow('no port for beanstalkd');
      expect(folders).toHaveLength(1);
      expect(folders.filter((folder) => existsSync(folder))).toEqual([]);
    } finally {
      stranger.close();
    }
  });

  it('takes the next port where one is taken', async () => {
    const program = await ensureProgram('beanstalkd');
    const { port, stranger } = await strangerOnOurPorts();
    const tried: number[] = [];
    try {
      jest.spyOn(Math, 'random').mockReturnValue(0); // begins with the first port
      const server = await startSomewhere('beanstalkd', { first: port, last: port + 40 }, (place) => {
        tried.push(place.port);
        return new BeanstalkdServer(program, place, {});
      });
      servers.push(server);
      expect(tried[0]).toBe(port);
      expect(server.port).toBe(tried.at(-1));
      expect(server.port).not.toBe(port);
    } finally {
      jest.restoreAllMocks();
      stranger.close();
    }
  });

  it('leaves the port of a killed server to that server', async () => {
    const server = await start();
    await server.kill();
    const mine = { first: server.port, last: server.port };
    const program = await ensureProgram('beanstalkd');
    await expect(
      startSomewhere('beanstalkd', mine, (place) => new BeanstalkdServer(program, place, {})),
    ).rejects.toThrow('no port for beanstalkd');
    await server.restart();
  });
});
