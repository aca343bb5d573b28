import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Client } from 'pg';
import { eventually, startPostgres, type PostgresServer } from 'test-servers';
import { Example } from '../test/example.js';

jest.setTimeout(180_000);

const ENV = { PAY_WITHIN: '5s' };
let example: Example;

async function place(): Promise<string> {
  const { status, body } = await example.request('POST', '/orders');
  expect([status, body.status]).toEqual([201, 'unpaid']);
  return body.id as string;
}

async function statusOf(id: string): Promise<string | undefined> {
  const { body } = await example.request('GET', '/orders');
  return body.find((order: { id: string }) => order.id === id)?.status;
}

const cancelled = (id: string) =>
  eventually('the order is cancelled', async () => (await statusOf(id)) === 'cancelled');

afterEach(() => example.remove());

describe('unpaid-orders', () => {
  it('cancels an unpaid order, and leaves a paid one', async () => {
    example = await Example.byCommand('unpaid-orders', ENV);
    const paid = await place();
    expect(await example.request('POST', `/orders/${paid}/pay`)).toEqual({
      status: 200,
      body: { id: paid, status: 'paid' },
    });
    const unpaid = await place();
    await cancelled(unpaid); // so the time of the first one has passed, too
    expect(await statusOf(paid)).toBe('paid');
    expect(example.output.join()).not.toContain(`order ${paid} is not unpaid`); // its job was revoked
    expect((await example.request('POST', `/orders/${unpaid}/pay`)).status).toBe(409);
    expect(await example.end()).toBe(0);
  });
});

describe('unpaid-orders that dies', () => {
  let server: PostgresServer;
  let db: Client;

  beforeAll(async () => {
    server = await startPostgres();
    db = new Client(server.url);
    await db.connect();
  });
  afterAll(async () => {
    await db.end();
    await server.stop();
  });

  const alone = () => Example.alone('unpaid-orders', { ...ENV, DATABASE_URL: server.url });

  it('cancels the order when it is back', async () => {
    example = await alone();
    const id = await place();
    await example.end('SIGKILL');
    await example.start();
    await cancelled(id);
  });

  describe('between the add and the commit', () => {
    /** Lets commits wait for a lock that this test holds, and kills the example in one. Resolves with the commit's process. */
    async function dieInCommit(): Promise<number> {
      example = await alone();
      await db.query(`
        CREATE OR REPLACE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS
          $$ BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NULL; END $$;
        CREATE CONSTRAINT TRIGGER hold AFTER INSERT ON orders DEFERRABLE INITIALLY DEFERRED
          FOR EACH ROW EXECUTE FUNCTION hold();
        SELECT pg_advisory_lock(1)`);
      const unanswered = expect(example.request('POST', '/orders')).rejects.toThrow('fetch failed');
      let waiting: { pid: number }[] = [];
      await eventually('the commit waits', async () => {
        const locks = `SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`;
        waiting = (await db.query<{ pid: number }>(locks)).rows;
        return waiting.length > 0;
      });
      await example.end('SIGKILL');
      await unanswered;
      return waiting[0]!.pid;
    }

    /** Resolves when that process is gone. */
    async function unlock(pid: number): Promise<void> {
      await db.query('SELECT pg_advisory_unlock(1)');
      await eventually('the commit has ended', async () => {
        const { rowCount } = await db.query('SELECT FROM pg_stat_activity WHERE pid = $1', [pid]);
        return rowCount === 0;
      });
      await db.query('DROP TRIGGER hold ON orders');
    }

    it('cancels an order that was committed and never answered', async () => {
      await unlock(await dieInCommit());
      const { rows } = await db.query<{ id: string }>(`SELECT id FROM orders WHERE status = 'unpaid'`);
      expect(rows).toHaveLength(1);
      await example.start();
      await cancelled(rows[0]!.id);
    });

    it('does nothing for an order that was rolled back', async () => {
      const pid = await dieInCommit();
      await db.query('SELECT pg_terminate_backend($1)', [pid]);
      await unlock(pid);
      await example.start();
      await eventually('the job ran', () =>
        example.output.some((line) => line.endsWith('is not unpaid: nothing to cancel')),
      );
    });
  });
});
