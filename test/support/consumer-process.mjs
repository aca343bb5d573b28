// A process whose handlers never end, for tests that kill it. Its argument is JSON. It prints each start.
import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { DqConsumer, DqModule } from 'nest-dq';

const { tube, options } = JSON.parse(process.argv[2]);
const app = await NestFactory.createApplicationContext(DqModule.forRoot(options), { logger: false });
await app.get(DqConsumer).consume(
  tube,
  (_payload, { id, attempt, fence }) => {
    process.stdout.write(`${JSON.stringify({ id, attempt, fence })}\n`);
    return new Promise(() => undefined);
  },
  { concurrency: 50 },
);
