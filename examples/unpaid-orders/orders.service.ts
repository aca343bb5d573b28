import { randomUUID } from 'node:crypto';
import { ConflictException, Injectable, Logger } from '@nestjs/common';
import { DelayedHandler, DqProducer, defineTube, duration } from 'nest-dq';
import { Database } from './database.js';

export interface Order {
  readonly id: string;
  readonly status: 'unpaid' | 'paid' | 'cancelled';
}

const PAY_WITHIN = duration(process.env.PAY_WITHIN ?? '15m');
const CancelUnpaid = defineTube<{ id: string }>('order.cancel-unpaid');

@Injectable()
export class OrdersService {
  private readonly logger = new Logger(OrdersService.name);

  constructor(
    private readonly db: Database,
    private readonly dq: DqProducer,
  ) {}

  async list(): Promise<Order[]> {
    return (await this.db.pool.query<Order>('SELECT * FROM orders')).rows;
  }

  async place(): Promise<Order> {
    const order: Order = { id: randomUUID(), status: 'unpaid' };
    await this.db.transaction(async (tx) => {
      await tx.query('INSERT INTO orders VALUES ($1, $2)', [order.id, order.status]);
      // Before the commit: a job without its row does nothing, a row without its job would stay unpaid forever.
      await this.dq.delay(CancelUnpaid, { id: order.id }, PAY_WITHIN, { key: order.id });
    });
    return order;
  }

  async pay(id: string): Promise<Order> {
    const { rows } = await this.db.pool.query<Order>(
      `UPDATE orders SET status = 'paid' WHERE id = $1 AND status = 'unpaid' RETURNING *`,
      [id],
    );
    if (!rows[0]) throw new ConflictException(`order ${id} is not unpaid`);
    // After the commit. Nothing depends on it: the job that isn't revoked finds a paid order.
    await this.dq
      .revoke({ tube: CancelUnpaid, key: id })
      .catch((error: Error) => this.logger.warn(`job of order ${id} not revoked: ${error.message}`));
    return rows[0];
  }

  /** The order may have been paid in the last moment, or never committed: the row decides, and one statement is a transaction. */
  @DelayedHandler(CancelUnpaid)
  async cancelUnpaid({ id }: { id: string }): Promise<void> {
    const { rowCount } = await this.db.pool.query(
      `UPDATE orders SET status = 'cancelled' WHERE id = $1 AND status = 'unpaid'`,
      [id],
    );
    this.logger.log(
      rowCount === 1 ? `order ${id} cancelled` : `order ${id} is not unpaid: nothing to cancel`,
    );
  }
}
