import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer, type Server as Listener } from 'node:net';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { BeanstalkdServer, startBeanstalkd, type BeanstalkdOptions } from './beanstalkd.js';
import { places } from './place.js';
import { ensureProgram } from './programs.js';
import { startSomewhere } from './server.js';
import { within } from './waiting.js';
import { ask } from './wire.js';

const LIMIT = 10_000;
const PORTS = { first: 20_000, last: 29_990 };
const servers: BeanstalkdServer[] = [];

async function start(options?: BeanstalkdOptions): Promise<BeanstalkdServer> {
  const server = await startBeanstalkd(options);
  servers.push(server);
  return server;
}

/** Puts with a delay, so that the reply tells that it was stored and nothing takes it. */
const put = (server: BeanstalkdServer, body: string) =>
  ask(server.port, `put 0 1000 60 ${body.length}\r\n${body}`, LIMIT);

/** A listener that knows nothing of our claims, on a port that was free. */
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
  it('answers at its endpoint', async () => {
    const server = await start();
    expect(server.endpoint).toBe(`127.0.0.1:${server.port}`);
    await expect(ask(server.port, 'list-tubes', LIMIT)).resolves.toContain('default');
  });

  it('gives two servers two ports and two processes', async () => {
    const [one, two] = await Promise.all([start(), start()]);
    expect(one.port).not.toBe(two.port);
    expect(one.pid).not.toBe(two.pid);
  });

  it('keeps its jobs and its port over SIGKILL and restart', async () => {
    const server = await start();
    const { port, pid } = server;
    await expect(put(server, 'kept')).resolves.toBe('INSERTED 1');
    await server.kill();
    expect(() => process.kill(pid, 0)).toThrow('ESRCH');
    await expect(ask(port, 'peek 1', LIMIT)).rejects.toThrow('ECONNREFUSED');
    await server.restart();
    expect(server.port).toBe(port);
    expect(server.pid).not.toBe(pid);
    await expect(ask(port, 'peek 1', LIMIT)).resolves.toBe('FOUND 1 4\r\nkept');
  });

  it('comes back empty after a wipe, and without a binlog', async () => {
    const [wiped, forgetful] = await Promise.all([start(), start({ binlog: false })]);
    for (const server of [wiped, forgetful]) await put(server, 'lost');
    await expect(wiped.wipe()).rejects.toThrow('before its data is wiped');
    await wiped.kill();
    await wiped.wipe();
    await Promise.all([wiped.restart(), forgetful.restart()]);
    for (const server of [wiped, forgetful]) {
      await expect(ask(server.port, 'peek 1', LIMIT)).resolves.toBe('NOT_FOUND');
    }
  });

  it('comes back as it was when its data were saved', async () => {
    const server = await start();
    await put(server, 'kept');
    await server.saveData();
    await ask(server.port, 'delete 1', LIMIT);
    await put(server, 'lost');
    await expect(server.putBackData()).rejects.toThrow('before its data is wiped');
    await server.kill();
    await server.putBackData();
    await server.restart();
    await expect(ask(server.port, 'peek 1', LIMIT)).resolves.toBe('FOUND 1 4\r\nkept');
    await expect(ask(server.port, 'peek 2', LIMIT)).resolves.toBe('NOT_FOUND');
  });

  it('runs with further variables in its environment', async () => {
    const server = await start({ env: { PLACE: 'here' } });
    await expect(readFile(`/proc/${server.pid}/environ`, 'utf8')).resolves.toContain('\0PLACE=here');
  });

  it('is silent while frozen and answers what it was asked once it thaws', async () => {
    const server = await start();
    server.freeze();
    const reply = ask(server.port, 'peek 1', LIMIT);
    await expect(within(200, 'a frozen server', reply)).rejects.toThrow('waited 0.2 s for a frozen server');
    server.thaw();
    await expect(reply).resolves.toBe('NOT_FOUND');
  });

  it('refuses to freeze or thaw what does not run', async () => {
    const server = await start();
    await server.kill();
    expect(() => server.freeze()).toThrow('is gone');
    expect(() => server.thaw()).toThrow('is gone');
  });

  it('takes the largest job size and further arguments', async () => {
    const server = await start({ maxJobSize: 3, args: ['-s', '4096'] });
    await expect(put(server, 'four')).resolves.toBe('JOB_TOO_BIG');
    await expect(ask(server.port, 'stats', LIMIT)).resolves.toContain('binlog-max-size: 4096');
  });

  it('cannot write its log beyond a limit, and loses what it then stores, until it is restarted', async () => {
    const server = await start();
    await expect(put(server, 'kept')).resolves.toBe('INSERTED 1');
    await server.limitFiles(4);
    await expect(put(server, 'refused')).resolves.toBe('BURIED 2');
    await expect(put(server, 'lost')).resolves.toBe('INSERTED 3');
    await server.restart();
    await expect(ask(server.port, 'peek 1', LIMIT)).resolves.toBe('FOUND 1 4\r\nkept');
    await expect(ask(server.port, 'peek 3', LIMIT)).resolves.toBe('NOT_FOUND');
    await expect(put(server, 'stored')).resolves.toMatch('INSERTED');
  });

  it('refuses jobs when it can begin no new file of its log', async () => {
    const server = await start({ args: ['-s', '5000'] });
    await server.limitFiles(4_999);
    const body = 'x'.repeat(4_000);
    await expect(put(server, body)).resolves.toBe('INSERTED 1');
    await expect(put(server, body)).resolves.toBe('OUT_OF_MEMORY');
    await server.limitFiles(5_000);
    await expect(put(server, body)).resolves.toMatch('INSERTED');
  });

  it('takes no connection beyond a limit of open files, until that is raised', async () => {
    const server = await start();
    await server.limitOpenFiles(4);
    const reply = ask(server.port, 'peek 1', LIMIT);
    await expect(within(200, 'a full server', reply)).rejects.toThrow('waited 0.2 s for a full server');
    await server.limitOpenFiles(64);
    await expect(reply).resolves.toBe('NOT_FOUND');
  });

  it('stops a frozen server, twice, and is then gone for good', async () => {
    const server = await start();
    const { pid } = server;
    server.freeze();
    await Promise.all([server.stop(), server.stop()]);
    await server.stop();
    expect(() => process.kill(pid, 0)).toThrow('ESRCH');
    await expect(server.restart()).rejects.toThrow('stopped for good');
  });

  it('stops a server that is just restarting', async () => {
    const server = await start();
    await server.kill();
    const restarted = expect(server.restart()).rejects.toThrow(/stopped for good|ended before it answered/);
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
