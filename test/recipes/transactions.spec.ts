import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Type } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { DqModule, DqProducer, type Tube } from 'nest-dq';
import { DqDeadLetters } from 'nest-dq/operate';
import { DqTestKit } from 'nest-dq/testing';
import { blocksOf, compact } from '../support/page.js';
import { Database } from './database.js';
import { Invoice, Invoices, OrderCancel, OrderMail, Orders } from './shop.js';

const crash = () => {
  throw new Error('crash');
};
const nothing = () => undefined;

let kit: DqTestKit;
let db: Database;
let app: TestingModule;

beforeEach(async () => {
  db = new Database();
  await db.query('CREATE TABLE orders (id TEXT PRIMARY KEY, status TEXT)');
  await db.query('CREATE TABLE invoices (id TEXT)');
  await db.query('CREATE TABLE outbox (id TEXT PRIMARY KEY, tube TEXT, relayed INTEGER DEFAULT 0)');
  kit = new DqTestKit({ now: new Date('2027-01-01T12:00:00Z') });
});

afterEach(async () => {
  await app.close();
  await kit.close();
  db.close();
});

async function start<T>(service: Type<T>): Promise<T> {
  const logger = { log: nothing, warn: nothing, error: nothing };
  const imports = [DqModule.forRoot({ logger })];
  const providers = [{ provide: Database, useValue: db }, service];
  app = await kit.override(Test.createTestingModule({ imports, providers })).compile();
  await app.init();
  return app.get(service);
}

async function statusOf(id: string): Promise<string | undefined> {
  const [order] = await db.query<{ status: string }>('SELECT status FROM orders WHERE id = ?', id);
  return order?.status;
}

async function countOf(table: string): Promise<number> {
  const [counted] = await db.query<{ n: number }>(`SELECT count(*) AS n FROM ${table}`);
  return counted!.n;
}

const letters = async (tube: Tube) => (await app.get(DqDeadLetters).list(tube)).letters;

describe('a delayed job that is added before the commit', () => {
  let orders: Orders;
  beforeEach(async () => {
    orders = await start(Orders);
  });

  it('finds its row when it runs', async () => {
    await orders.place('1');
    await kit.advance('14m');
    expect(await statusOf('1')).toBe('placed');
    await kit.advance('1m');
    expect(await statusOf('1')).toBe('cancelled');
  });

  it('finds nothing after a rollback, and ends', async () => {
    db.beforeCommit = crash;
    await expect(orders.place('1')).rejects.toThrow('crash');
    expect(kit.scheduled(OrderCancel)).toHaveLength(1);
    await kit.advance('15m');
    expect([await countOf('orders'), await letters(OrderCancel)]).toEqual([0, []]);
    expect(kit.scheduled(OrderCancel)).toEqual([]);
  });

  it('does not run at all, when it is revoked after the rollback', async () => {
    db.beforeCommit = crash;
    await expect(orders.placeOrRevoke('1')).rejects.toThrow('crash');
    expect(kit.scheduled(OrderCancel)).toEqual([]);
  });

  it('is revoked by its receipt, so that the one of an order that is there already stays', async () => {
    await orders.placeOrRevoke('1');
    await expect(orders.placeOrRevoke('1')).rejects.toThrow(/UNIQUE/);
    expect(kit.scheduled(OrderCancel)).toHaveLength(1);
  });

  it('rolls the transaction back, when it cannot be added', async () => {
    for (const node of [0, 1, 2]) kit.sleepNode(node);
    await expect(orders.place('1')).rejects.toMatchObject({ code: 'DQ_TOO_FEW_COPIES' });
    expect(await countOf('orders')).toBe(0);
  });

  it('is added twenty times at once on one connection, where transactions take turns, and hardly where they do not', async () => {
    const place = (prefix: string) => Array.from({ length: 20 }, (_, i) => orders.place(`${prefix}${i}`));
    await Promise.all(place('a'));
    expect([await countOf('orders'), kit.scheduled(OrderCancel).length]).toEqual([20, 20]);
    db.takesTurns = false;
    const failed = (await Promise.allSettled(place('b'))).filter(({ status }) => status === 'rejected');
    expect(String((failed[0] as PromiseRejectedResult).reason)).toMatch(/transaction within a transaction/);
  });

  it('would be lost, if it were added after the commit', async () => {
    jest.spyOn(app.get(DqProducer), 'delay').mockImplementation(crash);
    await expect(orders.placeAndThenAdd('1')).rejects.toThrow('crash');
    expect([await statusOf('1'), kit.scheduled(OrderCancel)]).toEqual(['placed', []]);
  });
});

describe('a job that is brought forward after the commit', () => {
  let orders: Orders;
  beforeEach(async () => {
    orders = await start(Orders);
  });

  it('runs at once, and once', async () => {
    await orders.placeAndMail('1');
    await kit.drain();
    expect(orders.mailed).toEqual(['1']);
    await kit.advance('5m');
    expect(orders.mailed).toEqual(['1']);
  });

  it('runs after its delay, when the process ends at the commit', async () => {
    jest.spyOn(app.get(DqProducer), 'reschedule').mockImplementation(crash);
    await expect(orders.placeAndMail('1')).rejects.toThrow('crash');
    await kit.advance('59s');
    expect(orders.mailed).toEqual([]);
    await kit.advance('1s');
    expect(orders.mailed).toEqual(['1']);
  });

  it('finds nothing after a rollback', async () => {
    db.beforeCommit = crash;
    await expect(orders.placeAndMail('1')).rejects.toThrow('crash');
    await kit.advance('1m');
    expect([orders.mailed, kit.scheduled(OrderMail)]).toEqual([[], []]);
  });

  it('is too early for a transaction that takes longer than its delay', async () => {
    let commit!: () => void;
    db.beforeCommit = () => new Promise((resolve) => (commit = resolve));
    const placing = orders.placeAndMail('1');
    while (commit === undefined) await new Promise((resolve) => setImmediate(resolve));
    await kit.advance('1m');
    commit();
    await placing;
    await kit.advance('1h');
    expect([await statusOf('1'), orders.mailed]).toEqual(['placed', []]);
  });
});

describe('an outbox', () => {
  let invoices: Invoices;
  let runs: () => number;
  beforeEach(async () => {
    invoices = await start(Invoices);
    const write = jest.spyOn(invoices, 'write');
    runs = () => write.mock.calls.length;
  });

  it('has its job run once within seconds', async () => {
    await invoices.order('1');
    await kit.advance('1m');
    expect([await countOf('invoices'), await countOf('outbox'), runs()]).toEqual([1, 0, 1]);
  });

  it('has nothing of a transaction that was rolled back', async () => {
    db.beforeCommit = crash;
    await expect(invoices.order('1')).rejects.toThrow('crash');
    await kit.advance('1m');
    expect([await countOf('orders'), await countOf('invoices'), runs()]).toEqual([0, 0, 0]);
  });

  it('takes orders while no node is in reach, and relays them when one is', async () => {
    for (const node of [0, 1, 2]) kit.sleepNode(node);
    await invoices.order('1');
    await kit.advance('1m');
    expect(await countOf('outbox')).toBe(1);
    for (const node of [0, 1, 2]) kit.wakeNode(node);
    await kit.advance('5m');
    expect([await countOf('invoices'), await countOf('outbox')]).toEqual([1, 0]);
  });

  it('has one job of a row, when the relay ends between its add and its mark', async () => {
    await invoices.order('1');
    db.failing = 'UPDATE outbox';
    await expect(invoices.relay()).rejects.toThrow('crash');
    db.failing = undefined;
    await invoices.relay();
    expect(kit.scheduled(Invoice)).toHaveLength(1);
    await kit.advance('1m');
    expect([await countOf('invoices'), await countOf('outbox'), runs()]).toEqual([1, 0, 1]);
  });

  it('has no effect twice, when a row is relayed after its job was done', async () => {
    await invoices.order('1');
    await kit.advance('5s');
    // A relay that had read the row before.
    await app
      .get(DqProducer)
      .now(Invoice, { outbox: 'invoice-1' }, { key: 'invoice-1', onDuplicate: 'keep' });
    await kit.drain();
    expect([await countOf('invoices'), runs()]).toEqual([1, 2]);
  });
});

it('is what the page shows', () => {
  const shown = blocksOf(readFileSync(new URL('../../docs/transactions.md', import.meta.url), 'utf8'));
  const compiled = compact(readFileSync(new URL('./shop.ts', import.meta.url), 'utf8'));
  expect(shown.length).toBeGreaterThan(3);
  for (const code of shown) for (const part of code.split('\n\n')) expect(compiled).toContain(compact(part));
});
