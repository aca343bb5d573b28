import { NestFactory } from '@nestjs/core';
import { AppModule, run } from './app.js';

async function main(): Promise<void> {
  await run(await NestFactory.createApplicationContext(AppModule, { logger: ['error', 'warn'] }));
}

void main();
