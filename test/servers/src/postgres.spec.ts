import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { startPostgres, type PostgresServer } from './postgres.js';

let server: PostgresServer;

async function ask(sql: string): Promise<unknown[]> {
  const client = new Client(server.url);
  await client.connect();
  try {
    return (await client.query({ text: sql, rowMode: 'array' })).rows.flat();
  } finally {
    await client.end();
  }
}

afterEach(() => server.stop());

describe('startPostgres', () => {
  it('starts one that keeps what was committed over a kill', async () => {
    server = await startPostgres();
    await ask('CREATE TABLE orders AS SELECT 42 AS id');
    await server.kill();
    await expect(ask('SELECT 1')).rejects.toThrow('ECONNREFUSED');
    await server.restart();
    expect(await ask('SELECT id FROM orders')).toEqual([42]);
  });

  it('leaves no process and no folder', async () => {
    server = await startPostgres();
    const { pid } = server;
    const [folder] = (await ask('SHOW data_directory')) as [string];
    await server.stop();
    expect(() => process.kill(pid, 0)).toThrow('ESRCH');
    expect(existsSync(folder)).toBe(false);
    expect(await readdir(tmpdir())).not.toContain(folder.split('/').at(-2));
  });
});
