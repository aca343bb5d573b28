import { Module } from '@nestjs/common';
import { DqModule } from 'nest-dq';
import { DqDashboardModule } from 'nest-dq/dashboard';
import { Database } from './database.js';
import { OrdersController } from './orders.controller.js';
import { OrdersService } from './orders.service.js';

@Module({
  imports: [
    DqModule.forRoot({ embedded: { dir: process.env.DATA_DIR ?? 'data' } }),
    DqDashboardModule.forRoot(),
  ],
  controllers: [OrdersController],
  providers: [Database, OrdersService],
})
export class AppModule {}
