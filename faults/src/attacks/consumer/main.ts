// A consumer process under attack: a Nest application whose handlers log what they get, and each copy that was refused.
import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { DqConsumer, DqEvents, DqModule, type DqOptions } from 'nest-dq';
import { Worker } from '../../consumer/worker.js';
import { LogWriter } from '../../log.js';
import type { Task } from '../../task.js';
import type { AttackedLine } from '../log.js';

export interface AttackedArguments {
  readonly name: string;
  /** Path of its log. */
  readonly log: string;
  readonly options: DqOptions;
  readonly tubes: readonly string[];
}

const { name, log, options, tubes } = JSON.parse(process.argv[2]!) as AttackedArguments;
const writer = new LogWriter<AttackedLine>(log);
const worker = new Worker(name, writer);

process.on('disconnect', () => process.kill(process.pid, 'SIGKILL')); // the process that started it is gone
const app = await NestFactory.createApplicationContext(DqModule.forRoot(options), {
  logger: ['warn', 'error'],
});
app
  .get(DqEvents)
  .on('badSeal')
  .subscribe((refused) => writer.write({ what: 'refused', ...refused }));
for (const tube of tubes) {
  await app.get(DqConsumer).consume(tube, (payload, job) => {
    writer.write({ what: 'seen', tube, payload: String(JSON.stringify(payload)) });
    return worker.run(payload as Task, job as Parameters<Worker['run']>[1]);
  });
}
app.enableShutdownHooks();
process.send!('ready');
