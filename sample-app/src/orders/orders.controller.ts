import { Body, Controller, Get, HttpCode, Param, ParseUUIDPipe, Post, UseFilters } from '@nestjs/common';
import { QueueUnavailableFilter } from '../common/queue-unavailable.filter.js';
import { CreateOrderDto } from './create-order.dto.js';
import type { Order } from './order.js';
import { OrdersService } from './orders.service.js';

@Controller('orders')
@UseFilters(QueueUnavailableFilter)
export class OrdersController {
  constructor(private readonly orders: OrdersService) {}

  @Get()
  list(): Order[] {
    return this.orders.list();
  }

  @Get(':id')
  show(@Param('id', ParseUUIDPipe) id: string): Order {
    return this.orders.get(id);
  }

  @Post()
  place(@Body() order: CreateOrderDto): Promise<Order> {
    return this.orders.place(order);
  }

  @Post(':id/pay')
  @HttpCode(200)
  pay(@Param('id', ParseUUIDPipe) id: string): Promise<Order> {
    return this.orders.pay(id);
  }

  @Post(':id/postpone')
  @HttpCode(200)
  postpone(@Param('id', ParseUUIDPipe) id: string): Promise<Order> {
    return this.orders.postpone(id);
  }
}
