// A process that replays all dead letters of a topic and is gone in the middle of that. Its argument is JSON: it kills itself once
// `after` calls have stored messages in the topic `killedIn`.
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { KqDeadLetters, KqModule } from 'nest-kq';
import { KafkajsDriver } from '../../packages/nest-kq/dist/driver/kafkajs/kafkajs-driver.js';

const { brokers, topic, killedIn, after } = JSON.parse(process.argv[2]);
let left = after;

function killing(producer) {
  return {
    send: async (to, messages) => {
      const sent = await producer.send(to, messages);
      if (to !== killedIn || --left > 0) return sent;
      process.kill(process.pid, 'SIGKILL');
      return new Promise(() => {});
    },
    transaction: () => producer.transaction(),
    close: () => producer.close(),
  };
}

function driver(options) {
  const inner = new KafkajsDriver(options);
  return {
    admin: inner.admin,
    producer: (given) => killing(inner.producer(given)),
    member: (...given) => inner.member(...given),
    close: () => inner.close(),
  };
}

class AppModule {}
Module({ imports: [KqModule.forRoot({ brokers, consume: false, driver })] })(AppModule);

const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error'] });
await app.get(KqDeadLetters).replay(topic, {});
await app.close();
process.stdout.write('it has ended by itself\n');
