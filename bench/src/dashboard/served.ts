import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DqModule } from 'nest-dq';
import { DqInspector } from 'nest-dq/operate';
import { DqDashboardModule } from 'nest-dq/dashboard';
import type { Places } from '../servers.js';
import { stderrLogger } from '../stderr-logger.js';

/** Calls `use` with the address of a dashboard, of an application of its own in this process. It repairs nothing by itself. */
export async function withDashboard<T>(
  { beanstalks, redis }: Places,
  use: (url: string, inspector: DqInspector) => Promise<T>,
): Promise<T> {
  @Module({
    imports: [
      DqModule.forRoot({ beanstalks: [...beanstalks], redis, repair: false }),
      DqDashboardModule.forRoot({ access: () => ({ acts: 'all', payloads: true }) }),
    ],
  })
  class AppModule {}
  const app = await NestFactory.create(AppModule, { logger: stderrLogger, forceCloseConnections: true });
  try {
    await app.listen(0, '127.0.0.1');
    return await use(`${await app.getUrl()}/dq/`, app.get(DqInspector));
  } finally {
    await app.close();
  }
}
