import { Injectable } from '@nestjs/common';
import { DelayedHandler, DqProducer, Recurring, defineTube, type JobReceipt } from 'nest-dq';
import { Database } from './database.js';

// The code of docs/transactions.md.

export const OrderCancel = defineTube<{ id: string }>('order.cancel');
export const OrderMail = defineTube<{ id: string }>('order.mail');
export const Invoice = defineTube<{ outbox: string }>('invoice');

/** With a remote database this would be false for a commit that got no answer. */
const isRolledBack = (error: unknown): boolean => error instanceof Error;

@Injectable()
export class Orders {
  readonly mailed: string[] = [];

  constructor(
    private readonly db: Database,
    private readonly dq: DqProducer,
  ) {}

  async place(id: string) {
    await this.db.transaction(async (tx) => {
      await tx.query(`INSERT INTO orders (id, status) VALUES (?, 'placed')`, id);
      await this.dq.delay(OrderCancel, { id }, '15m', { key: id });
    }); // commits here
  }

  @DelayedHandler(OrderCancel)
  async cancel({ id }: { id: string }) {
    // no such row, or one that was paid: nothing happens, and the job is done
    await this.db.query(`UPDATE orders SET status = 'cancelled' WHERE id = ? AND status = 'placed'`, id);
  }

  async placeOrRevoke(id: string) {
    let added: JobReceipt | undefined;
    try {
      await this.db.transaction(async (tx) => {
        await tx.query(`INSERT INTO orders (id, status) VALUES (?, 'placed')`, id);
        added = await this.dq.delay(OrderCancel, { id }, '15m', { key: id });
      });
    } catch (error) {
      if (added && isRolledBack(error)) await this.dq.revoke(added);
      throw error;
    }
  }

  /** The mistake. */
  async placeAndThenAdd(id: string) {
    await this.db.transaction((tx) => tx.query(`INSERT INTO orders (id, status) VALUES (?, 'placed')`, id));
    await this.dq.delay(OrderCancel, { id }, '15m', { key: id });
  }

  async placeAndMail(id: string) {
    const mail = await this.db.transaction(async (tx) => {
      await tx.query(`INSERT INTO orders (id, status) VALUES (?, 'placed')`, id);
      return this.dq.delay(OrderMail, { id }, '1m');
    });
    await this.dq.reschedule(mail, { delay: 0 });
  }

  @DelayedHandler(OrderMail)
  async mail({ id }: { id: string }) {
    const [order] = await this.db.query('SELECT id FROM orders WHERE id = ?', id);
    if (order) this.mailed.push(id);
  }
}

@Injectable()
export class Invoices {
  constructor(
    private readonly db: Database,
    private readonly dq: DqProducer,
  ) {}

  async order(id: string) {
    await this.db.transaction(async (tx) => {
      await tx.query(`INSERT INTO orders (id, status) VALUES (?, 'placed')`, id);
      await tx.query('INSERT INTO outbox (id, tube) VALUES (?, ?)', `invoice-${id}`, Invoice.name);
    });
  }

  @Recurring('outbox', '*/5 * * * * *') // once across all processes
  async relay() {
    const rows = await this.db.query<{ id: string; tube: string }>(
      'SELECT id, tube FROM outbox WHERE relayed = 0 LIMIT 1000',
    );
    const adding = rows.map(({ id, tube }) =>
      this.dq.now(tube, { outbox: id }, { key: id, onDuplicate: 'keep' }),
    );
    await Promise.all(adding);
    for (const { id } of rows) await this.db.query('UPDATE outbox SET relayed = 1 WHERE id = ?', id);
  }

  @DelayedHandler(Invoice)
  async write({ outbox }: { outbox: string }) {
    await this.db.transaction(async (tx) => {
      const [row] = await tx.query('DELETE FROM outbox WHERE id = ? RETURNING id', outbox);
      if (!row) return; // it is done
      await tx.query('INSERT INTO invoices (id) VALUES (?)', outbox);
    });
  }
}
