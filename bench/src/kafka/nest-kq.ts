import { Injectable, Module, type INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { createRequire } from 'node:module';
import { KqModule, KqPusher, TopicHandler, type DriverFactory } from 'nest-kq';
import { confluent } from 'nest-kq/confluent';
import { findConfluent } from 'test-servers';
import { stderrLogger } from '../stderr-logger.js';
import { newGroup, type Handle, type StreamClient, type StreamLibrary } from './client.js';
import type { Message } from './messages.js';

/** Enough for all keys of the benchmark. */
const CONCURRENCY = 1_000;

/** By kafkajs. */
export const nestKq = nestKqBy(() => undefined);

/** By Confluent's client, which `npm run confluent` builds. */
export const nestKqByConfluent = nestKqBy(() => {
  const folder = findConfluent();
  if (folder === undefined) throw new Error("Confluent's client is not built: npm run confluent");
  return confluent(createRequire(import.meta.url)(folder));
});

function nestKqBy(driver: () => DriverFactory | undefined): StreamLibrary {
  return {
    connect: async (endpoint) => {
      const options = { brokers: [endpoint], driver: driver() };
      const app = await start(options);
      return new NestKqClient(options, app, app.get(KqPusher));
    },
  };
}

interface Connection {
  readonly brokers: readonly string[];
  readonly driver: DriverFactory | undefined;
}

class NestKqClient implements StreamClient {
  constructor(
    private readonly connection: Connection,
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
    const app = await start(this.connection, Handlers);
    return () => app.close();
  }

  close(): Promise<void> {
    return this.app.close();
  }
}

function start(
  { brokers, driver }: Connection,
  ...providers: (new () => object)[]
): Promise<INestApplicationContext> {
  const options = { brokers, group: newGroup(), ...(driver && { driver }) };
  @Module({ imports: [KqModule.forRoot(options)], providers })
  class AppModule {}
  return NestFactory.createApplicationContext(AppModule, { logger: stderrLogger });
}
