import 'reflect-metadata';
import type { AddressInfo } from 'node:net';
import type { INestApplication } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';
import { Settings } from './settings.js';
import { whatToTry } from './what-to-try.js';

async function main(): Promise<void> {
  const settings = new Settings(process.env);
  const app = await NestFactory.create(AppModule.forRoot(settings), {
    logger: ['log', 'warn', 'error'],
    forceCloseConnections: true,
  });
  // Without the hooks a signal would end handlers midway. process.exit, for as process 1 of a container we cannot signal ourselves.
  app.enableShutdownHooks([], { useProcessExit: true });
  await listen(app, settings.port);
  const { port } = app.getHttpServer().address() as AddressInfo;
  console.log(whatToTry(port, settings));
}

async function listen(app: INestApplication, port: number): Promise<void> {
  try {
    await app.listen(port);
  } catch (error) {
    await app.close();
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    throw new Error(
      `port ${port} is taken: end what uses it, or take any free one with \`PORT=0 npm start\``,
      {
        cause: error,
      },
    );
  }
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
