// An application on a folder, with a handler that runs until a line comes in. It prints a line of JSON for each event.
import 'reflect-metadata';
import { once } from 'node:events';
import { NestFactory } from '@nestjs/core';
import { DqConsumer, DqModule, DqProducer } from 'nest-dq';

const [dir] = process.argv.slice(2);
const print = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
const warn = (message) => print({ event: 'warning', message });
const logger = { log: () => undefined, warn, error: warn };

const app = await NestFactory.createApplicationContext(
  DqModule.forRoot({ embedded: { dir, patience: '10m' }, shutdownTimeout: '10m', logger }),
  { logger: false },
);
app.enableShutdownHooks();
const ref = { tube: 'long', key: 'k' };
const job = await app.get(DqProducer).find(ref);
print({ event: 'started', found: job?.state ?? 'none' });
await app.get(DqConsumer).consume('long', async () => {
  print({ event: 'running' });
  await once(process.stdin, 'data');
});
if (!job) await app.get(DqProducer).now('long', undefined, { key: 'k' });
