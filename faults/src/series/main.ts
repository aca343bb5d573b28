// A process with series: a Nest application like that of a user. Its handlers write to a log of their own.
import 'reflect-metadata';
import { setTimeout as pause } from 'node:timers/promises';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  Discard,
  DqConsumer,
  DqModule,
  DqProducer,
  Recurring,
  type DelayedJob,
  type DqOptions,
} from 'nest-dq';
import { machineTime, setClockAhead } from '../clock.js';
import { LogWriter } from '../log.js';
import type { Tick } from './log.js';

export interface SeriesArguments {
  readonly name: string;
  /** Path of its log. */
  readonly log: string;
  readonly options: DqOptions;
  /** Milliseconds by which its clock is wrong. */
  readonly ahead: number;
  readonly tubes: readonly string[];
  /** Six fields, by UTC. */
  readonly cron: string;
  /** Milliseconds that a run takes. */
  readonly took: number;
  /** Every third occurrence is given up as a dead letter, until a message says otherwise. */
  readonly discards: boolean;
}

const args = JSON.parse(process.argv[2]!) as SeriesArguments;
const { name, options, ahead, tubes, cron, took } = args;
let { discards } = args;
const log = new LogWriter<Tick>(args.log);
let runs = 0;

async function tick(job: DelayedJob): Promise<unknown> {
  const run = `${name}/${++runs}`;
  const { tube, lateness } = job;
  const dueAt = job.dueAt.getTime();
  log.write({ what: 'start', run, tube, dueAt, lateness, at: machineTime() });
  await pause(took);
  const dies = discards && (dueAt / 1_000) % 3 === 0;
  log.write({ what: 'end', run, how: dies ? 'discard' : 'done', at: machineTime() });
  return dies ? Discard.because('every third occurrence') : undefined;
}

const classes = tubes.map((tube) => {
  class Ticking {
    @Recurring(tube, cron)
    tick(_payload: undefined, job: DelayedJob): Promise<unknown> {
      return tick(job);
    }
  }
  return Ticking;
});

@Module({ imports: [DqModule.forRoot(options)], providers: classes })
class SeriesModule {}

process.on('disconnect', () => process.kill(process.pid, 'SIGKILL')); // the process that started it is gone
setClockAhead(ahead);
const app = await NestFactory.createApplicationContext(SeriesModule, { logger: ['warn', 'error'] });
app.enableShutdownHooks();
process.on('message', (message: { readonly discards: boolean } | { readonly end: true }) => {
  if ('end' in message) void end();
  else ({ discards } = message);
});
process.send!('ready');

/** Leaves no job behind. */
async function end(): Promise<void> {
  await app.get(DqConsumer).stop();
  const dq = app.get(DqProducer);
  await Promise.all(tubes.map((tube) => dq.revoke({ tube, key: 'recurring' }, { confirmed: true })));
  await app.close();
  process.exit();
}
