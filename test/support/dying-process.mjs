// A process in which jobs die when they run at the time for which they were added. A job that runs at another time, as it was
// revived, never ends. Its argument is JSON. It prints `ready`, and the id of each job that dies.
import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { Discard, DqConsumer, DqModule } from 'nest-dq';

const { tubes, options } = JSON.parse(process.argv[2]);
const app = await NestFactory.createApplicationContext(DqModule.forRoot(options), { logger: false });
for (const tube of tubes)
  await app.get(DqConsumer).consume(
    tube,
    ({ due }, { id, dueAt }) => {
      if (dueAt.getTime() !== due) return new Promise(() => undefined);
      process.stdout.write(`${id}\n`);
      return Discard.because('it has to die');
    },
    { concurrency: 50 },
  );
process.stdout.write('ready\n');
