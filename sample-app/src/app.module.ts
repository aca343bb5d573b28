import { Module, type DynamicModule } from '@nestjs/common';
import { DqModule } from 'nest-dq';
import { Revoker } from './common/revoker.js';
import { OrdersModule } from './orders/orders.module.js';
import { ResourcesModule } from './resources/resources.module.js';
import { Settings } from './settings.js';
import { WelcomeModule } from './welcome/welcome.module.js';

@Module({})
export class AppModule {
  static forRoot(settings: Settings): DynamicModule {
    return {
      module: AppModule,
      global: true,
      imports: [DqModule.forRoot(settings.jobs), OrdersModule, WelcomeModule, ResourcesModule],
      providers: [{ provide: Settings, useValue: settings }, Revoker],
      exports: [Settings, Revoker],
    };
  }
}
