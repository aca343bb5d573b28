import { Injectable } from '@nestjs/common';
import type { Order, OrderStatus } from './order.js';

/** In memory, to keep the example small: jobs on a cluster outlive it, and then find no row. */
@Injectable()
export class OrdersRepository {
  private readonly rows = new Map<string, Order>();

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
    return [...this.rows.values()];
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
