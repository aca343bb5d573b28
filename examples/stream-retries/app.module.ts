import { Module } from '@nestjs/common';
import { DqModule } from 'nest-dq';
import { DqDashboardModule } from 'nest-dq/dashboard';
import { KqModule } from 'nest-kq';
import { KqDqModule } from 'nest-kq/dq';
import { Customers } from './customers.js';
import { EventsController } from './events.controller.js';

@Module({
  imports: [
    KqModule.forRoot({ brokers: process.env.KAFKA_BROKERS?.split(','), group: 'webhooks' }),
    DqModule.forRoot({ embedded: { dir: process.env.DATA_DIR ?? 'data' } }),
    KqDqModule.forRoot(), // a message that fails becomes a job
    DqDashboardModule.forRoot(),
  ],
  controllers: [EventsController],
  providers: [Customers],
})
export class AppModule {}
