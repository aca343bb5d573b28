// A process whose handlers never end, for tests that kill it. Its argument is JSON. It prints each start, and reports the
// progress that a payload has.
import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { DqConsumer, DqModule } from 'nest-dq';

const { tube, options } = JSON.parse(process.argv[2]);
const app = await NestFactory.createApplicationContext(DqModule.forRoot(options), { logger: false });
await app.get(DqConsumer).consume(
  tube,
  (payload, job) => {
    const { id, attempt, fence } = job;
    process.stdout.write(`${JSON.stringify({ id, attempt, fence })}\n`);
    if (payload.progress) job.progress(...payload.progress);
    return new Promise(() => undefined);
  },
  { concurrency: 50 },
);
