import { Injectable, Module, type INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { KqModule, KqPusher, TopicHandler } from 'nest-kq';
import { stderrLogger } from '../stderr-logger.js';
import { newGroup, type Handle, type StreamClient, type StreamLibrary } from './client.js';
import type { Message } from './messages.js';

/** Enough for all keys of the benchmark. */
const CONCURRENCY = 1_000;

export const nestKq: StreamLibrary = {
  connect: async (endpoint) => {
    const app = await start(endpoint);
    return new NestKqClient(endpoint, app, app.get(KqPusher));
  },
};

class NestKqClient implements StreamClient {
  constructor(
    private readonly endpoint: string,
    private readonly app: INestApplicationContext,
    private readonly pusher: KqPusher,
  ) {}

  push(topic: string, message: Message): Promise<unknown> {
    return this.pusher.push(topic, message, { key: message.key });
  }

  async consume(topic: string, handle: Handle): Promise<() => Promise<void>> {
    @Injectable()
    class Handlers {
      @TopicHandler(topic, { concurrency: CONCURRENCY })
      handle(message: Message): unknown {
        return handle(message);
      }
    }
    const app = await start(this.endpoint, Handlers);
    return () => app.close();
  }

  close(): Promise<void> {
    return this.app.close();
  }
}

function start(endpoint: string, ...providers: (new () => object)[]): Promise<INestApplicationContext> {
  @Module({ imports: [KqModule.forRoot({ brokers: [endpoint], group: newGroup() })], providers })
  class AppModule {}
  return NestFactory.createApplicationContext(AppModule, { logger: stderrLogger });
}
