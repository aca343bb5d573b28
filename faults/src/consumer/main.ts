// A consumer process: a Nest application like that of a user. Its handlers write to a log of their own.
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DqModule, type BatchHandlerOptions, type DqOptions, type LimitOptions } from 'nest-dq';
import type { TubeWire } from 'nest-dq/go-queue';
import { setClockAhead } from '../clock.js';
import { LogWriter } from '../log.js';
import { handles, Worker } from './worker.js';

export interface ConsumerArguments {
  readonly name: string;
  /** Path of its log. */
  readonly log: string;
  readonly options: DqOptions;
  /** Milliseconds by which its clock is wrong. */
  readonly ahead: number;
  readonly limit?: LimitOptions;
  /** How its tube is stored. @default as nest-dq stores jobs */
  readonly wire?: TubeWire;
  /** @default one job at a time */
  readonly batch?: BatchHandlerOptions['batch'];
}

const { name, log, options, ahead, limit, wire, batch } = JSON.parse(process.argv[2]!) as ConsumerArguments;
handles(limit, wire, batch);

@Module({
  imports: [DqModule.forRoot(options)],
  providers: [{ provide: Worker, useValue: new Worker(name, new LogWriter(log)) }],
})
class ConsumerModule {}

process.on('disconnect', () => process.kill(process.pid, 'SIGKILL')); // the process that started it is gone
setClockAhead(ahead);
const app = await NestFactory.createApplicationContext(ConsumerModule, { logger: ['warn', 'error'] });
app.enableShutdownHooks();
process.send!('ready');
