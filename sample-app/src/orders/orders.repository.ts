import { Injectable } from '@nestjs/common';
import { Rows } from '../common/rows.js';
import { Settings } from '../settings.js';
import type { Order, OrderStatus } from './order.js';

@Injectable()
export class OrdersRepository {
  private readonly rows: Rows<Order>;

  constructor({ folder }: Settings) {
    this.rows = new Rows(folder, 'orders', (row) => ({ ...row, payBy: new Date(row.payBy) }));
  }

  add(order: Order): void {
    this.rows.set(order.id, order);
  }

  find(id: string): Order | undefined {
    return this.rows.get(id);
  }

  setPayBy(id: string, payBy: Date): void {
    const order = this.rows.get(id);
    if (order) this.rows.set(id, { ...order, payBy });
  }

  list(): Order[] {
    return this.rows.list();
  }

  /** As `UPDATE orders SET status = :to WHERE id = :id AND status = :from`: the changed row, if there was one. */
  move(id: string, from: OrderStatus, to: OrderStatus): Order | undefined {
    const order = this.rows.get(id);
    if (order?.status !== from) return undefined;
    const moved = { ...order, status: to };
    this.rows.set(id, moved);
    return moved;
  }
}
