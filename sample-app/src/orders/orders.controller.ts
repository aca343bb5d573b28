import { Body, Controller, Get, HttpCode, Param, ParseUUIDPipe, Post, UseFilters } from '@nestjs/common';
import { BodyOf } from '../common/body.js';
import { QueueUnavailableFilter } from '../common/queue-unavailable.filter.js';
import type { Order } from './order.js';
import { OrdersService } from './orders.service.js';
import { Stock } from './stock.js';

interface NewOrder {
  product: string;
  quantity: number;
}

const newOrder = new BodyOf<NewOrder>((fields) => ({
  product: fields.text('product'),
  quantity: fields.count('quantity', 1_000),
}));

/** An order as clients see it. */
type OrderView = Omit<Order, 'cancellation'>;

function view({ id, product, quantity, status, payBy }: Order): OrderView {
  return { id, product, quantity, status, payBy };
}

@Controller()
@UseFilters(QueueUnavailableFilter)
export class OrdersController {
  constructor(
    private readonly orders: OrdersService,
    private readonly stock: Stock,
  ) {}

  @Get('stock')
  showStock(): Record<string, number> {
    return this.stock.list();
  }

  @Get('orders')
  list(): OrderView[] {
    return this.orders.list().map(view);
  }

  @Get('orders/:id')
  show(@Param('id', ParseUUIDPipe) id: string): OrderView {
    return view(this.orders.get(id));
  }

  @Post('orders')
  async place(@Body(newOrder) { product, quantity }: NewOrder): Promise<OrderView> {
    return view(await this.orders.place(product, quantity));
  }

  @Post('orders/:id/pay')
  @HttpCode(200)
  async pay(@Param('id', ParseUUIDPipe) id: string): Promise<OrderView> {
    return view(await this.orders.pay(id));
  }
}
