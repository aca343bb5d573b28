// A process whose handler fails twice with different errors, and then succeeds once a line comes in. Its argument is JSON.
import 'reflect-metadata';
import { once } from 'node:events';
import { NestFactory } from '@nestjs/core';
import { DqConsumer, DqModule } from 'nest-dq';

const { tube, options } = JSON.parse(process.argv[2]);
const app = await NestFactory.createApplicationContext(DqModule.forRoot(options), { logger: false });
await app.get(DqConsumer).consume(
  tube,
  async (_payload, { attempt }) => {
    if (attempt <= 2) throw new RangeError(`attempt ${attempt} found no card`);
    await once(process.stdin, 'data');
  },
  { attempts: 6, backoff: () => 0 },
);
