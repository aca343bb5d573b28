// The outbox on database servers, and through the libraries that people use there.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import createKnex from 'knex';
import { Kysely, PostgresDialect } from 'kysely';
import { drizzleQuery, type OutboxDatabase } from 'nest-dq/outbox';
import { DqTestKit } from 'nest-dq/testing';
import { Client, Pool } from 'pg';
import {
  eventually,
  startMariadb,
  startPostgres,
  type MariadbServer,
  type PostgresServer,
} from 'test-servers';
import { openMariadb, openPostgres, type TestDatabase } from './databases.js';
import { Mail, outboxSuite, startProcess, type Process } from './outbox-suite.js';

let postgres: PostgresServer;
let mariadb: MariadbServer;

beforeAll(async () => {
  [postgres, mariadb] = await Promise.all([startPostgres(), startMariadb()]);
}, 120_000);
afterAll(() => Promise.all([postgres.stop(), mariadb.stop()]));

outboxSuite('PostgreSQL', () => openPostgres(postgres.url));
outboxSuite('MariaDB', () => openMariadb(mariadb.url));

describe('the outbox on PostgreSQL', () => {
  let kit: DqTestKit;
  let db: TestDatabase;
  const open: Process[] = [];

  const start = async (options: Parameters<typeof startProcess>[2] = {}) => {
    db = await openPostgres(postgres.url);
    kit = new DqTestKit({ now: new Date('2027-01-01T12:00:00Z') });
    const app = await startProcess(kit, db, options);
    open.push(app);
    return app;
  };
  const end = async () => {
    for (const each of open.splice(0)) await each.close();
    await kit.close();
    await db.close();
  };

  /** Runs `work` in a transaction of each library, and then in one that is rolled back. */
  const LIBRARIES: readonly [
    name: string,
    transaction: (url: string, work: (tx: OutboxDatabase) => Promise<void>) => Promise<void>,
  ][] = [
    [
      'Knex',
      async (url, work) => {
        const knex = createKnex({ client: 'pg', connection: url });
        try {
          await knex.transaction(work);
        } finally {
          await knex.destroy();
        }
      },
    ],
    [
      'Kysely',
      async (url, work) => {
        const dialect = new PostgresDialect({ pool: new Pool({ connectionString: url }) });
        const kysely = new Kysely({ dialect });
        try {
          await kysely.transaction().execute(work);
        } finally {
          await kysely.destroy();
        }
      },
    ],
    [
      'Drizzle',
      async (url, work) => {
        const pool = new Pool({ connectionString: url });
        try {
          await drizzle(pool).transaction(work);
        } finally {
          await pool.end();
        }
      },
    ],
  ];

  it.each(LIBRARIES)(
    'writes in a transaction of %s, and is rolled back with it',
    async (name, transaction) => {
      const isDrizzle = name === 'Drizzle';
      const pool = new Pool({ connectionString: postgres.url });
      const query = isDrizzle ? { query: drizzleQuery(sql), database: drizzle(pool) } : {};
      const { outbox } = await start(query);
      await transaction(
        postgres.url,
        async (tx) => void (await outbox.delay(tx, Mail, { to: "it's ?" }, '1m')),
      );
      const failed = transaction(postgres.url, async (tx) => {
        await outbox.delay(tx, Mail, { to: 'b' }, '1m');
        throw new Error('rolled back');
      });
      await expect(failed).rejects.toThrow('rolled back');
      expect(await outbox.relayNow()).toBe(1);
      expect(kit.scheduled(Mail)).toMatchObject([{ payload: { to: "it's ?" } }]);
      await pool.end();
      await end();
    },
  );

  it.each([
    ['Knex', () => createKnex({ client: 'pg', connection: postgres.url }), 'destroy'],
    [
      'Kysely',
      () =>
        new Kysely({ dialect: new PostgresDialect({ pool: new Pool({ connectionString: postgres.url }) }) }),
      'destroy',
    ],
    ['pg', () => new Pool({ connectionString: postgres.url }), 'end'],
  ] as const)('relays through %s', async (_name, connect, close) => {
    const database = connect();
    const { outbox } = await start({ database });
    await db.transaction((tx) => outbox.delay(tx, Mail, { to: 'a' }, '1m'));
    expect(await outbox.relayNow()).toBe(1);
    expect(await outbox.state()).toEqual({ waiting: 0, stuck: 0, oldestFor: 0 });
    expect(kit.scheduled(Mail)).toHaveLength(1);
    await (database as unknown as Record<string, () => Promise<void>>)[close]!();
    await end();
  });

  it('relays right after the commit when it listens, and again after the server was restarted', async () => {
    const app = await start({ relay: true, listen: () => new Client(postgres.url) });
    const relayed = (count: number) =>
      eventually('the row is relayed', () => kit.scheduled(Mail).length === count);
    const listening = async () => {
      const [row] = await db.query(
        "SELECT count(*) AS n FROM pg_stat_activity WHERE query = 'LISTEN nest_dq_outbox'",
      );
      return Number(row!.n) === 1;
    };
    await eventually('it listens', listening);
    await db.transaction((tx) => app.outbox.delay(tx, Mail, { to: 'a' }, '1h'));
    await relayed(1);
    await postgres.restart();
    const toldOf = (line: string) => line.startsWith("the outbox doesn't hear of new rows");
    await eventually('it notices', () => app.lines.some(toldOf));
    await kit.advance('1s');
    await eventually('it listens', listening);
    await db.transaction((tx) => app.outbox.delay(tx, Mail, { to: 'b' }, '1h'));
    await relayed(2);
    await end();
  });
});
