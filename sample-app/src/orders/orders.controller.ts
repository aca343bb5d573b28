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
  list(): Order[] {
    return this.orders.list();
  }

  @Get('orders/:id')
  show(@Param('id', ParseUUIDPipe) id: string): Order {
    return this.orders.get(id);
  }

  @Post('orders')
  place(@Body(newOrder) { product, quantity }: NewOrder): Promise<Order> {
    return this.orders.place(product, quantity);
  }

  @Post('orders/:id/pay')
  @HttpCode(200)
  pay(@Param('id', ParseUUIDPipe) id: string): Promise<Order> {
    return this.orders.pay(id);
  }

  @Post('orders/:id/postpone')
  @HttpCode(200)
  postpone(@Param('id', ParseUUIDPipe) id: string): Promise<Order> {
    return this.orders.postpone(id);
  }
}
