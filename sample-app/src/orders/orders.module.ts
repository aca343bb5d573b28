import { Module } from '@nestjs/common';
import { OrdersController } from './orders.controller.js';
import { OrdersRepository } from './orders.repository.js';
import { OrdersService } from './orders.service.js';
import { Stock } from './stock.js';

@Module({ controllers: [OrdersController], providers: [OrdersService, OrdersRepository, Stock] })
export class OrdersModule {}
