// A process that moves all waiting jobs of a tube, for tests that kill it. Its argument is JSON. It prints each progress.
import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { DqModule } from 'nest-dq';
import { DqControl } from 'nest-dq/operate';

const { tube, when, options } = JSON.parse(process.argv[2]);
const app = await NestFactory.createApplicationContext(DqModule.forRoot(options), { logger: false });
for await (const progress of app.get(DqControl).rescheduleMany(tube, {}, when))
  process.stdout.write(`${JSON.stringify(progress)}\n`);
