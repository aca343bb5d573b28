// A process whose handlers block its event loop until a file exists. Its argument is JSON. It prints a line for each start,
// end and warning.
import 'reflect-metadata';
import { existsSync } from 'node:fs';
import { NestFactory } from '@nestjs/core';
import { DqConsumer, DqModule } from 'nest-dq';

const asBytes = (_name, value) => (value?.type === 'Buffer' ? Buffer.from(value.data) : value);
const { tube, options, until, withoutLeaseThread } = JSON.parse(process.argv[2], asBytes);
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
const nothing = new Int32Array(new SharedArrayBuffer(4));
const ignored = () => undefined;
const logger = { log: ignored, error: ignored, warn: (warning) => say({ warning }) };
// A function cannot be passed to a thread, so the lease thread cannot start. For one server the option has no effect.
if (withoutLeaseThread) options.redis = { ...options.redis, natMap: ignored };

const app = await NestFactory.createApplicationContext(DqModule.forRoot({ ...options, logger }), {
  logger: false,
});
await app.get(DqConsumer).consume(tube, (_payload, { id, attempt, fence }) => {
  say({ start: { id, attempt, fence } });
  while (!existsSync(until)) Atomics.wait(nothing, 0, 0, 50);
  say({ end: id });
});
