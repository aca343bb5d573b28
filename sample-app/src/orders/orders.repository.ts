import { Inject, Injectable } from '@nestjs/common';
import { JsonTable } from '../common/json-table.js';
import { settings, type Settings } from '../settings.js';
import type { Order, OrderStatus } from './order.js';

@Injectable()
export class OrdersRepository extends JsonTable<Order> {
  constructor(@Inject(settings.KEY) { folder }: Settings) {
    super(folder, 'orders');
  }

  /** As `UPDATE orders SET status = :to WHERE id = :id AND status = :from`: the changed row, if there was one. */
  move(id: string, from: OrderStatus, to: OrderStatus): Order | undefined {
    const order = this.find(id);
    if (order?.status !== from) return undefined;
    const moved = { ...order, status: to };
    this.save(id, moved);
    return moved;
  }
}
