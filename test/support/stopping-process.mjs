// A process whose job never ends. On request it stops consuming, but does not end. Its argument is JSON. It prints a line for
// the start and one for the stop.
import 'reflect-metadata';
import { once } from 'node:events';
import { NestFactory } from '@nestjs/core';
import { DqConsumer, DqModule } from 'nest-dq';

const { tube, options } = JSON.parse(process.argv[2]);
const app = await NestFactory.createApplicationContext(DqModule.forRoot(options), { logger: false });
const consumption = await app.get(DqConsumer).consume(tube, () => {
  console.log('started');
  return new Promise(() => undefined);
});
await once(process.stdin, 'data');
await consumption.stop();
console.log('stopped');
