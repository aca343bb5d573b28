// A process of its own, which handles orders: `node consumer.js <brokers>`. It tells its parent what it sees.
import 'reflect-metadata';
import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, Module, type LoggerService } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { KqMessage, KqModule, TopicHandler } from 'nest-kq';
import { ON_PURPOSE } from '../screen.js';
import { Orders } from './order-topic.js';
import type { OrderRef, RunEntry } from './stream-tally.js';

/** Message that the process sends to its parent. */
export type ConsumerWord = RunEntry | { readonly what: 'said'; readonly line: string } | { what: 'ready' };

const WORK = 5;
const RETRY_DELAY = 300;
/** Every n-th order of a customer fails at first. */
const FAILS = 20;
/** Milliseconds. The least that nest-kq takes, so that the other process takes over soon. */
const SESSION = 6_000;

const tell = (word: ConsumerWord) => void process.send?.(word);

@Injectable()
class OrderHandler {
  @TopicHandler(Orders, { concurrency: 50, retry: { backoff: RETRY_DELAY } })
  async handle(order: OrderRef, { attempt }: KqMessage): Promise<void> {
    this.saw('started', order);
    await sleep(WORK);
    if (attempt === 1 && order.nr % FAILS === 0) {
      this.saw('failed', order);
      throw new Error(ON_PURPOSE);
    }
    this.saw('succeeded', order);
  }

  private saw(what: RunEntry['what'], { customer, nr }: OrderRef): void {
    tell({ what, customer, nr, at: Number(process.hrtime.bigint() / 1_000n) });
  }
}

const say = (line: string) => tell({ what: 'said', line });
const logger: LoggerService = { log: say, warn: say, error: say };

const [brokers = ''] = process.argv.slice(2);
@Module({
  imports: [
    KqModule.forRoot({ brokers: brokers.split(','), group: 'demo', sessionTimeout: SESSION, logger }),
  ],
  providers: [OrderHandler],
})
class ConsumerModule {}

process.on('SIGINT', () => {}); // Ctrl-C reaches all processes of the terminal: the parent ends this one
process.on('disconnect', () => process.exit(1)); // the parent is gone
const app = await NestFactory.createApplicationContext(ConsumerModule, { logger: ['error'] });
app.enableShutdownHooks(['SIGTERM']);
tell({ what: 'ready' });
