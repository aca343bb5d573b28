import { Module } from '@nestjs/common';
import { ClsModule, ClsService } from 'nestjs-cls';
import { DqModule } from 'nest-dq';
import { DqDashboardModule } from 'nest-dq/dashboard';
import { Mailer } from './mailer.js';
import { RemindersController } from './reminders.controller.js';
import { carryTenant, Tenants, tenantOfRequest, type TenantStore } from './tenants.js';

@Module({
  imports: [
    ClsModule.forRoot({ global: true, middleware: { mount: true, setup: tenantOfRequest } }),
    DqModule.forRootAsync({
      inject: [ClsService],
      useFactory: (cls: ClsService<TenantStore>) => ({
        embedded: { dir: process.env.DATA_DIR ?? 'data' },
        hooks: [carryTenant(cls)],
      }),
    }),
    DqDashboardModule.forRoot(),
  ],
  controllers: [RemindersController],
  providers: [Mailer, Tenants],
})
export class AppModule {}
