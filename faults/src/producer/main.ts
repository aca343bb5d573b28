// A producer in a process of its own, so that its clock can be wrong. Its parent sends the calls over the IPC channel.
import 'reflect-metadata';
import { ConsoleLogger } from '@nestjs/common';
import { DqError, type DqErrorCode, type DqOptions } from 'nest-dq';
import { setClockAhead } from '../clock.js';
import { TaskProducerApp, type TaskProducer } from '../task-producer.js';

export interface ProducerArguments {
  readonly options: DqOptions;
  /** Milliseconds by which its clock is wrong. */
  readonly ahead: number;
}

export interface Question {
  readonly id: number;
  readonly method: keyof TaskProducer;
  readonly given: readonly unknown[];
}

export interface Answer {
  readonly id: number;
  readonly result?: unknown;
  /** The parts of a DqError that the parent needs. */
  readonly error?: {
    readonly code: DqErrorCode;
    readonly message: string;
    readonly indeterminate: boolean;
  };
}

const { options, ahead } = JSON.parse(process.argv[2]!) as ProducerArguments;

process.on('disconnect', () => process.kill(process.pid, 'SIGKILL')); // the process that started it is gone
setClockAhead(ahead);
const producer = await TaskProducerApp.start(options, new ConsoleLogger({ logLevels: ['warn', 'error'] }));
process.on('message', (question: Question) => void answer(question));
process.send!('ready');

async function answer({ id, method, given }: Question): Promise<void> {
  try {
    const call = producer[method] as (...given: readonly unknown[]) => Promise<unknown>;
    process.send!({ id, result: await call.apply(producer, [...given]) } satisfies Answer);
  } catch (error) {
    if (!(error instanceof DqError)) throw error;
    const { code, message, indeterminate } = error;
    process.send!({ id, error: { code, message, indeterminate } } satisfies Answer);
  }
}
