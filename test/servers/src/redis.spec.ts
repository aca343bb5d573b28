import { afterEach, describe, expect, it } from '@jest/globals';
import { startRedis, type RedisOptions, type RedisServer } from './redis.js';
import { until, within } from './waiting.js';
import { ask } from './wire.js';

const LIMIT = 10_000;
const servers: RedisServer[] = [];

async function start(options?: RedisOptions): Promise<RedisServer> {
  const server = await startRedis(options);
  servers.push(server);
  return server;
}

/** Redis may hold a write back from its file while a sync runs. */
const written = (server: RedisServer) =>
  until(LIMIT, 'the append-only file', async () =>
    (await ask(server.port, 'INFO persistence', LIMIT)).includes('aof_buffer_length:0'),
  );

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop()));
});

describe('startRedis', () => {
  it('answers at its url, never evicts, and syncs its file every second', async () => {
    const server = await start();
    expect(server.url).toBe(`redis://127.0.0.1:${server.port}`);
    await expect(ask(server.port, 'PING', LIMIT)).resolves.toBe('+PONG');
    const info = await ask(server.port, 'INFO everything', LIMIT);
    expect(info).toContain('maxmemory_policy:noeviction');
    expect(info).toContain('aof_enabled:1');
  });

  it('keeps its data and its port over SIGKILL and restart', async () => {
    const server = await start();
    const { port } = server;
    await expect(ask(port, 'SET kept yes', LIMIT)).resolves.toBe('+OK');
    await written(server);
    await server.kill();
    await expect(ask(port, 'PING', LIMIT)).rejects.toThrow('ECONNREFUSED');
    await server.restart();
    expect(server.port).toBe(port);
    await expect(ask(port, 'GET kept', LIMIT)).resolves.toBe('$3\r\nyes');
  });

  it('forgets everything without an append-only file', async () => {
    const server = await start({ appendonly: false });
    await ask(server.port, 'SET lost yes', LIMIT);
    await server.restart();
    await expect(ask(server.port, 'EXISTS lost', LIMIT)).resolves.toBe(':0');
  });

  it('is silent while frozen and answers what it was asked once it thaws', async () => {
    const server = await start();
    server.freeze();
    const reply = ask(server.port, 'PING', LIMIT);
    await expect(within(200, 'a frozen server', reply)).rejects.toThrow('waited 0.2 s for a frozen server');
    server.thaw();
    await expect(reply).resolves.toBe('+PONG');
  });

  it('is a ready cluster of one node, also after a restart and a wipe', async () => {
    const server = await start({ cluster: true });
    const info = () => ask(server.port, 'CLUSTER INFO', LIMIT);
    await expect(info()).resolves.toMatch(/cluster_state:ok[^]*cluster_slots_ok:16384/);
    await ask(server.port, 'SET kept yes', LIMIT);
    await written(server);
    await server.restart();
    await expect(info()).resolves.toContain('cluster_state:ok');
    await expect(ask(server.port, 'EXISTS kept', LIMIT)).resolves.toBe(':1');
    await server.kill();
    await server.wipe();
    await server.restart();
    await expect(info()).resolves.toContain('cluster_state:ok');
    await expect(ask(server.port, 'EXISTS kept', LIMIT)).resolves.toBe(':0');
  }, 60_000);

  it('says what the server said when it does not start', async () => {
    await expect(start({ args: ['--nonsense', '1'] })).rejects.toThrow(/exit status 1.*Bad directive/s);
  });
});
