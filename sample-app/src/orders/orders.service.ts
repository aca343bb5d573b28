import { randomUUID } from 'node:crypto';
import { ConflictException, Inject, Injectable, Logger, NotFoundException } from '@nestjs/common';
import { DelayedHandler, DelayedJob, DqProducer, defineTube } from 'nest-dq';
import { KqPusher } from 'nest-kq';
import { tryToRevoke } from '../common/try-to-revoke.js';
import { settings, type Settings } from '../settings.js';
import { StockService } from '../stock/stock.service.js';
import type { CreateOrderDto } from './create-order.dto.js';
import { OrderChanged } from './order-changed.js';
import type { Order } from './order.js';
import { OrdersRepository } from './orders.repository.js';

/** The payload names the row and has no state of its own: the handler reads the row again, as much can happen meanwhile. */
interface OrderJob {
  orderId: string;
}

export const OrderUnpaid = defineTube<OrderJob>('order.unpaid');

/** The job that cancels an order has the order's id as its key, so the row needs no reference to it. */
const cancellationOf = (id: string) => ({ tube: OrderUnpaid, key: id });

/** An order takes its goods from stock at once. Unpaid in time, it is cancelled and they go back. A topic tells each change. */
@Injectable()
export class OrdersService {
  private readonly logger = new Logger(OrdersService.name);

  constructor(
    private readonly orders: OrdersRepository,
    private readonly stock: StockService,
    private readonly dq: DqProducer,
    private readonly kq: KqPusher,
    @Inject(settings.KEY) private readonly settings: Settings,
  ) {}

  list(): Order[] {
    return this.orders.list();
  }

  get(id: string): Order {
    const order = this.orders.find(id);
    if (!order) throw new NotFoundException(`there is no order ${id}`);
    return order;
  }

  async place({ product, quantity }: CreateOrderDto): Promise<Order> {
    return this.tell(await this.store(product, quantity));
  }

  private async store(product: string, quantity: number): Promise<Order> {
    this.stock.take(product, quantity);
    try {
      const id = randomUUID();
      // The job, then the row: a job without its row does nothing, a row without its job would never be cancelled.
      const job = await this.dq.delay(OrderUnpaid, { orderId: id }, this.settings.payWithin, { key: id });
      const order: Order = { id, product, quantity, status: 'placed', payBy: job.dueAt.toISOString() };
      this.orders.save(id, order);
      return order;
    } catch (error) {
      this.stock.giveBack(product, quantity);
      throw error;
    }
  }

  /** As much time again, from now on. */
  async postpone(id: string): Promise<Order> {
    this.get(id);
    const payBy = new Date(Date.now() + this.settings.payWithin);
    // Paid, cancelled, or being cancelled right now: then there is nothing to move.
    const answer = await this.dq.reschedule(cancellationOf(id), payBy);
    if (answer !== 'rescheduled') throw new ConflictException(`order ${id} is not awaiting payment`);
    const order = { ...this.get(id), payBy: payBy.toISOString() };
    this.orders.save(id, order);
    return this.tell(order);
  }

  /** Paying twice is no mistake, and tells it again: the first time the topic may not have been there. */
  async pay(id: string): Promise<Order> {
    const order = this.get(id);
    if (order.status === 'paid') return this.tell(order);
    // The row, then the job: from here on the order is paid, and whatever the revoke answers is fine.
    const paid = this.orders.move(id, 'placed', 'paid');
    if (!paid) throw new ConflictException(`order ${id} was not paid in time and was cancelled`);
    const answer = await tryToRevoke(this.dq, cancellationOf(id));
    // `running` or `done`: the handler came too late for the row, as it sees itself.
    this.logger.log(`order ${id} is paid; its cancellation: ${answer}`);
    return this.tell(paid);
  }

  /** Only the change of the row counts, so a late start, or a second one, does nothing. */
  @DelayedHandler(OrderUnpaid, { concurrency: 50 })
  async cancelUnpaid({ orderId }: OrderJob, job: DelayedJob): Promise<void> {
    const cancelled = this.orders.move(orderId, 'placed', 'cancelled');
    if (cancelled) {
      this.stock.giveBack(cancelled.product, cancelled.quantity);
      this.logger.log(`order ${orderId} is cancelled, ${job.lateness.toFixed(1)} ms after its deadline`);
    }
    // Paid in the last moment, or never saved: nothing to tell. A second start tells it, as the first one may have failed here.
    const order = this.orders.find(orderId);
    if (order?.status === 'cancelled') await this.tell(order);
  }

  /** Publishes a saved row: if the topic is down, its job cancels the order that nobody heard of, and publishes that. */
  private async tell(order: Order): Promise<Order> {
    await this.kq.push(OrderChanged, order, { key: order.id });
    return order;
  }
}
