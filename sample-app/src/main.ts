import 'reflect-metadata';
import type { AddressInfo } from 'node:net';
import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';
import { settings, type Settings } from './settings.js';
import { whatToTry } from './what-to-try.js';

async function bootstrap(): Promise<void> {
  const app = await NestFactory.create(AppModule, {
    logger: ['log', 'warn', 'error'],
    forceCloseConnections: true,
  });
  // SIGTERM lets running handlers end. By process.exit, as process 1 of a container cannot signal itself.
  app.enableShutdownHooks([], { useProcessExit: true });
  const given = app.get<Settings>(settings.KEY);
  try {
    await app.listen(given.port);
  } catch (error) {
    await app.close();
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    console.error(`port ${given.port} is in use: free it, or use any free port with \`PORT=0 npm start\``);
    process.exitCode = 1;
    return;
  }
  const { port } = app.getHttpServer().address() as AddressInfo;
  console.log(whatToTry(port, given));
}

await bootstrap();
