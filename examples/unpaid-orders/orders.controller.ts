import { Controller, Get, HttpCode, Param, ParseUUIDPipe, Post } from '@nestjs/common';
import { OrdersService, type Order } from './orders.service.js';

@Controller('orders')
export class OrdersController {
  constructor(private readonly orders: OrdersService) {}

  @Get()
  list(): Promise<Order[]> {
    return this.orders.list();
  }

  @Post()
  place(): Promise<Order> {
    return this.orders.place();
  }

  @Post(':id/pay')
  @HttpCode(200)
  pay(@Param('id', ParseUUIDPipe) id: string): Promise<Order> {
    return this.orders.pay(id);
  }
}
