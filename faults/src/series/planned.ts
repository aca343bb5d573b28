// A process that runs series made at run time: a Nest application like that of a user, which upserts all of them at its start.
import 'reflect-metadata';
import { setTimeout as pause } from 'node:timers/promises';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DelayedHandler, Discard, DqModule, DqSeries, type DelayedJob, type DqOptions } from 'nest-dq';
import { machineTime } from '../clock.js';
import { LogWriter } from '../log.js';
import type { Tick } from './log.js';

export const TUBE = 'planned';
/** Every interval in the experiment divides it. */
const START = new Date(1_800_000_000_000 - 10 ** 11);

export interface PlannedArguments {
  readonly name: string;
  /** Path of its log. */
  readonly log: string;
  readonly options: DqOptions;
  /** Names of the series. */
  readonly series: readonly string[];
  /** Interval in ms. */
  readonly every: number;
  /** Milliseconds that a run takes. */
  readonly took: number;
  /** Every third occurrence is given up as a dead letter, until a message says otherwise. */
  readonly discards: boolean;
}

const args = JSON.parse(process.argv[2]!) as PlannedArguments;
const { name, options, series, every, took } = args;
let { discards } = args;
const log = new LogWriter<Tick>(args.log);
let runs = 0;

class Planned {
  @DelayedHandler(TUBE)
  async tick(tube: string, job: DelayedJob): Promise<unknown> {
    const run = `${name}/${++runs}`;
    const dueAt = job.dueAt.getTime();
    log.write({ what: 'start', run, tube, dueAt, lateness: job.lateness, at: machineTime() });
    await pause(took);
    const dies = discards && (dueAt / every) % 3 === 0;
    log.write({ what: 'end', run, how: dies ? 'discard' : 'done', at: machineTime() });
    return dies ? Discard.because('every third occurrence') : undefined;
  }
}

@Module({ imports: [DqModule.forRoot(options)], providers: [Planned] })
class PlannedModule {}

process.on('disconnect', () => process.kill(process.pid, 'SIGKILL')); // the process that started it is gone
const app = await NestFactory.createApplicationContext(PlannedModule, { logger: ['warn', 'error'] });
app.enableShutdownHooks();
process.on('message', (message: { readonly discards: boolean }) => ({ discards } = message));
const plans = app.get(DqSeries);
await Promise.all(
  series.map((each) => plans.upsert(each, { tube: TUBE, every, startAt: START, payload: each })),
);
process.send!('ready');
