import { describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { systemClock } from 'nest-handlers/time';
import { duplexPair } from './in-process-node.js';

const pair = () => duplexPair(systemClock);

async function closed(side: Duplex): Promise<void> {
  if (!side.closed) await once(side, 'close');
}

describe('duplexPair', () => {
  it('carries bytes both ways, in order', async () => {
    const { client, server } = pair();
    client.write('a');
    client.write('b');
    client.end('c');
    server.end('reply');
    expect(await text(server)).toBe('abc');
    expect(await text(client)).toBe('reply');
    await Promise.all([closed(client), closed(server)]);
  });

  it('delivers later, never within the write', async () => {
    const { client, server } = pair();
    let isWriting = true;
    const arrived = new Promise<boolean>((resolve) => {
      server.on('data', () => resolve(isWriting));
    });
    client.write('a');
    await Promise.resolve();
    isWriting = false;
    expect(await arrived).toBe(false);
  });

  it('lets the server write after the client has ended, but not the client after the server', async () => {
    const { client, server } = pair();
    client.end();
    server.resume();
    await once(server, 'end');
    server.end('still here');
    expect(await text(client)).toBe('still here');

    const other = pair();
    other.server.end();
    other.client.resume();
    other.server.resume();
    await Promise.all([closed(other.client), closed(other.server)]);
    expect(other.client.writable).toBe(false);
  });

  it.each(['client', 'server'] as const)('destroys both ends when the %s is destroyed', async (end) => {
    const { client, server } = pair();
    const ends = { client, server };
    ends[end].destroy();
    await Promise.all([closed(client), closed(server)]);
  });

  it('shows an error at the end that was destroyed by it, and at no other', async () => {
    const { client, server } = pair();
    const failed = once(client, 'error');
    client.destroy(new Error('lost'));
    expect(await failed).toEqual([new Error('lost')]);
    await closed(server);
    expect(server.errored).toBeNull();
  });

  it('holds a writer back while nobody reads, then lets it continue', async () => {
    const { client, server } = pair();
    const chunk = Buffer.alloc(16 * 1024, 'x');
    let written = 0;
    while (written < 4_096 * 1024) {
      client.write(chunk);
      written += chunk.length;
    }
    for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate);
    expect(client.writableNeedDrain).toBe(true);
    let read = 0;
    server.on('data', (part: Buffer) => {
      read += part.length;
    });
    await once(client, 'drain');
    expect(read).toBe(written);
    client.destroy();
  });

  it('lets a writer go when the reader is destroyed', async () => {
    const { client, server } = pair();
    client.write(Buffer.alloc(200 * 1024));
    await new Promise(setImmediate);
    server.destroy();
    await Promise.all([closed(client), closed(server)]);
  });
});
