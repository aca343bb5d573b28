import { Module, ValidationPipe } from '@nestjs/common';
import { ConfigModule } from '@nestjs/config';
import { APP_PIPE } from '@nestjs/core';
import { DqModule } from 'nest-dq';
import { OrdersModule } from './orders/orders.module.js';
import { ResourcesModule } from './resources/resources.module.js';
import { settings, type Settings } from './settings.js';
import { UsersModule } from './users/users.module.js';

@Module({
  imports: [
    ConfigModule.forRoot({ isGlobal: true, load: [settings] }),
    DqModule.forRootAsync({ inject: [settings.KEY], useFactory: ({ jobs }: Settings) => jobs }),
    OrdersModule,
    UsersModule,
    ResourcesModule,
  ],
  providers: [
    {
      provide: APP_PIPE,
      useValue: new ValidationPipe({ transform: true, whitelist: true, stopAtFirstError: true }),
    },
  ],
})
export class AppModule {}
