import { Controller, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  ClientKafka,
  EventPattern,
  Payload,
  Transport,
  type KafkaOptions,
  type MicroserviceOptions,
} from '@nestjs/microservices';
import { lastValueFrom } from 'rxjs';
import { stderrLogger } from '../stderr-logger.js';
import { newGroup, type Handle, type StreamClient, type StreamLibrary } from './client.js';
import type { Message } from './messages.js';

export const transporter: StreamLibrary = {
  async connect(endpoint) {
    const client = new ClientKafka({ client: { brokers: [endpoint] }, producerOnlyMode: true });
    await client.connect();
    return new TransporterClient(endpoint, client);
  },
};

class TransporterClient implements StreamClient {
  constructor(
    private readonly endpoint: string,
    private readonly client: ClientKafka,
  ) {}

  push(topic: string, message: Message): Promise<unknown> {
    return lastValueFrom(this.client.emit(topic, { key: message.key, value: message }), {
      defaultValue: undefined,
    });
  }

  async consume(topic: string, handle: Handle): Promise<() => Promise<void>> {
    @Controller()
    class Handlers {
      @EventPattern(topic)
      async handle(@Payload() message: object): Promise<void> {
        await handle(message as Message);
      }
    }
    @Module({ controllers: [Handlers] })
    class AppModule {}
    const options: KafkaOptions = {
      transport: Transport.KAFKA,
      options: {
        client: { brokers: [this.endpoint] },
        consumer: { groupId: newGroup() },
        subscribe: { fromBeginning: true },
      },
    };
    const app = await NestFactory.createMicroservice<MicroserviceOptions>(AppModule, {
      ...options,
      logger: stderrLogger,
    });
    await app.listen();
    return () => app.close();
  }

  async close(): Promise<void> {
    await this.client.close();
  }
}
