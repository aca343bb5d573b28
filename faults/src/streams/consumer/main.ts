// A consumer process: a Nest application like that of a user. Its handler writes to a log of its own.
import 'reflect-metadata';
import { createRequire } from 'node:module';
import { setTimeout as pause } from 'node:timers/promises';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DqModule } from 'nest-dq';
import { KqModule, OnKq, TopicHandler, type KqEventMap, type KqMessage, type RetryOptions } from 'nest-kq';
import { confluent } from 'nest-kq/confluent';
import { KqDqModule } from 'nest-kq/dq';
import { LogWriter } from '../../log.js';
import type { End, Numbered, StreamLine } from '../log.js';
import type { StreamArguments } from '../programs.js';
import { NUMBERS } from '../topic.js';

/** Milliseconds between two runs of a message that failed. */
const BACKOFF = 50;
const CONCURRENCY = 50;
/** Through nest-dq; in place there is no limit. */
const ATTEMPTS = 10;

const {
  name,
  log: path,
  options,
  dq,
  plain,
  client,
  otherTopic,
} = JSON.parse(process.argv[2]!) as StreamArguments & { readonly log: string };

const retry: RetryOptions = dq
  ? { through: 'dq', backoff: BACKOFF, attempts: ATTEMPTS }
  : { backoff: BACKOFF, attempts: Infinity };
const failures = plain ? {} : { retry };

const load = createRequire(import.meta.url);
const driver = client === undefined ? {} : { driver: confluent(load(client)) };

class Numbers {
  private readonly log = new LogWriter<StreamLine>(path);
  private runs = 0;

  @TopicHandler(NUMBERS, { concurrency: CONCURRENCY, ...failures })
  async handle(numbered: Numbered, { partition, offset, attempt, signal }: KqMessage): Promise<void> {
    const { message, key, number, ms, fails } = numbered;
    const run = `${name}/${++this.runs}`;
    const place = { partition, offset: Number(offset) };
    this.log.write({
      what: 'start',
      run,
      process: name,
      message,
      key,
      number,
      attempt,
      at: Date.now(),
      ...place,
    });
    const end = (how: End['how']) => this.log.write({ what: 'end', run, how, at: Date.now() });
    await pause(ms, undefined, { signal }).catch(() => undefined); // the signal is checked below
    if (signal.aborted) {
      end('aborted');
      throw signal.reason;
    }
    if (attempt > fails) return end('done');
    end('fail');
    throw new Error(`message ${message} was meant to fail`);
  }

  @OnKq('overlapped')
  overlapped({ partitions }: KqEventMap['overlapped']): void {
    const runs = partitions.reduce((sum, each) => sum + each.runs, 0);
    this.log.write({ what: 'overlap', process: name, runs, at: Date.now() });
  }
}

const joint = dq ? [DqModule.forRoot(dq), KqDqModule.forRoot()] : [];

class OtherTopic {
  @TopicHandler(otherTopic ?? NUMBERS)
  handle(): void {}
}

@Module({
  imports: [KqModule.forRoot({ ...options, ...driver }), ...joint],
  providers: [Numbers, ...(otherTopic === undefined ? [] : [OtherTopic])],
})
class ConsumerModule {}

process.on('disconnect', () => process.kill(process.pid, 'SIGKILL')); // the process that started it is gone
const app = await NestFactory.createApplicationContext(ConsumerModule, { logger: ['warn', 'error'] });
app.enableShutdownHooks();
process.send!('ready');
