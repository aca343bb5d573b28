import { Injectable, Logger } from '@nestjs/common';
import { KqMessage, TopicHandler } from 'nest-kq';
import { OrderChanged } from '../orders/order-changed.js';
import type { Order } from '../orders/order.js';
import { PriceList } from './price-list.js';
import type { Figures } from './sale.js';
import { SalesRepository } from './sales.repository.js';

const NONE: Figures = { placed: 0, paid: 0, cancelled: 0, turnover: 0 };

/** Follows the topic of orders, and so never asks the orders themselves. */
@Injectable()
export class SalesService {
  private readonly logger = new Logger(SalesService.name);

  constructor(
    private readonly sales: SalesRepository,
    private readonly prices: PriceList,
  ) {}

  /** By product. */
  figures(): Record<string, Figures> {
    const figures: Record<string, Figures> = {};
    for (const { product, quantity, price, status } of this.sales.list()) {
      const before = figures[product] ?? NONE;
      const turnover = before.turnover + (status === 'paid' ? quantity * price : 0);
      figures[product] = { ...before, [status]: before[status] + 1, turnover };
    }
    return figures;
  }

  /**
   * Changes of one order come in their order, those of other orders at the same time. A message that fails waits as a job
   * and comes back later; nothing waits for it, so it may be older than what is known by then. It can also come twice, which
   * does no harm: it writes the row that is there.
   */
  @TopicHandler(OrderChanged, { retry: { through: 'dq', backoff: 1_000 } })
  async follow({ id, product, quantity, status }: Order, { attempt }: KqMessage): Promise<void> {
    const price = this.sales.find(id)?.price ?? (await this.prices.priceOf(product));
    const known = this.sales.find(id)?.status;
    if (status === 'placed' && known !== undefined) return; // a later change has overtaken this one
    this.sales.save(id, { product, quantity, price, status });
    if (attempt > 1) this.logger.log(`order ${id} is in the sales after ${attempt} attempts`);
  }
}
