import { Module, ValidationPipe } from '@nestjs/common';
import { ConfigModule } from '@nestjs/config';
import { APP_PIPE } from '@nestjs/core';
import { DqModule } from 'nest-dq';
import { DqDashboardModule } from 'nest-dq/dashboard';
import { KqModule } from 'nest-kq';
import { KqDqModule } from 'nest-kq/dq';
import { OrdersModule } from './orders/orders.module.js';
import { ResourcesModule } from './resources/resources.module.js';
import { SalesModule } from './sales/sales.module.js';
import { settings, type Settings } from './settings.js';
import { UsersModule } from './users/users.module.js';

@Module({
  imports: [
    ConfigModule.forRoot({ isGlobal: true, load: [settings] }),
    DqModule.forRootAsync({ inject: [settings.KEY], useFactory: ({ jobs }: Settings) => jobs }),
    KqModule.forRootAsync({ inject: [settings.KEY], useFactory: ({ messages }: Settings) => messages }),
    KqDqModule.forRoot(), // a message that fails comes back as a job
    // Whoever reaches this sample may do everything, here as on its other routes. A real application asks who it is.
    DqDashboardModule.forRoot({ access: () => ({ acts: 'all', payloads: true }) }),
    OrdersModule,
    UsersModule,
    ResourcesModule,
    SalesModule,
  ],
  providers: [
    {
      provide: APP_PIPE,
      useValue: new ValidationPipe({ transform: true, whitelist: true, stopAtFirstError: true }),
    },
  ],
})
export class AppModule {}
