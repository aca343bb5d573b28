// The client against a real beanstalkd that freezes, dies, drains or is away.
import { once } from 'node:events';
import net from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { Connection, type Done, type Reserved } from 'nest-dq/src/beanstalk/connection.js';
import { systemClock } from 'nest-handlers/time';
import { LATER, PATIENCE, put, realBeanstalkd } from './real-beanstalkd.js';

const { server, connect, worker } = realBeanstalkd();

describe('a real beanstalkd that fails', () => {
  /** Sends five puts and a reserve; resolves when the connection closed, with what each got. */
  async function inFlight(deadline: number, fail: () => Promise<void>): Promise<string[]> {
    const results: string[] = [];
    let closed = () => {};
    const whenClosed = new Promise<void>((resolve) => (closed = resolve));
    const connection = connect({
      deadline,
      onClose: (reason) => {
        results.push(`closed: ${reason.code}`);
        closed();
      },
    });
    await connection.ask((done) => connection.stats(done, PATIENCE));
    const note: Done<unknown> = (error, value) =>
      results.push(error ? `${error.code}${error.unknown ? '?' : ''}` : JSON.stringify(value));
    await fail();
    for (let i = 0; i < 5; i++) connection.put('default', ['x'], LATER, note);
    connection.reserveWithTimeout(60, note);
    await whenClosed;
    connection.touch('1', note);
    await new Promise<void>((resolve) => setImmediate(resolve));
    return results;
  }

  const lost = Array<string>(5).fill('CONNECTION_LOST?');

  it('misses its deadline when it is frozen', async () => {
    try {
      const results = await inFlight(50, async () => server().freeze());
      expect(results).toEqual(['DEADLINE?', ...lost, 'closed: DEADLINE', 'CONNECTION_LOST']);
    } finally {
      server().thaw();
    }
  });

  it('fails everything that waits, once, when it is killed', async () => {
    const other = connect();
    const reserved = other.ask<Reserved | string>((done) => other.reserveWithTimeout(60, done));
    const results = await inFlight(PATIENCE, async () => {
      server().freeze();
      queueMicrotask(() => setImmediate(() => void server().kill()));
    });
    await expect(reserved).rejects.toMatchObject({ code: 'CONNECTION_LOST', unknown: true });
    expect(results).toEqual([...lost, 'CONNECTION_LOST?', 'closed: CONNECTION_LOST', 'CONNECTION_LOST']);
    await server().restart();
  }, 60_000);

  it('answers DRAINING to puts while it drains', async () => {
    const { connection, tube } = await worker();
    const id = await put(connection, tube, 'before');
    process.kill(server().pid, 'SIGUSR1');
    const drained = async (): Promise<unknown> => {
      for (;;) {
        const error: unknown = await put(connection, tube).then(
          () => undefined,
          (reason: unknown) => reason,
        );
        if (error) return error; // the signal is on its way until then
      }
    };
    expect(await drained()).toMatchObject({ code: 'DRAINING', unknown: false });
    expect(await connection.ask((done) => connection.delete(id, done))).toBe('DELETED');
    await server().restart();
  }, 60_000);

  it('knows that a put to a server that is away was not executed', async () => {
    await server().kill();
    const stream = net.connect(server().port, server().host);
    const connection = new Connection(stream, { clock: systemClock, deadline: PATIENCE });
    const failed = put(connection, 'default');
    await expect(failed).rejects.toMatchObject({ code: 'CONNECTION_LOST', unknown: false });
    if (!stream.closed) await once(stream, 'close');
    await server().restart();
  }, 60_000);
});
