// A process that handles the messages of all topics that match, for tests that have several of them in one group. Its argument
// is JSON. It prints when it starts and ends a message, and the partitions that it gets and loses. It leaves on any input.
import 'reflect-metadata';
import { once } from 'node:events';
import { setTimeout as work } from 'node:timers/promises';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { KqModule, OnKq, TopicHandler } from 'nest-kq';

const { name, brokers, topics, took } = JSON.parse(process.argv[2]);

class Flow {
  async handle(_value, { topic, partition, offset, key }) {
    print({ what: 'start', topic, partition, offset, key });
    await work(took);
    print({ what: 'end', topic, partition, offset, key });
  }

  rebalanced({ assigned, lost }) {
    print({ what: 'rebalanced', assigned, lost });
  }
}
decorate(TopicHandler(new RegExp(topics)), 'handle');
decorate(OnKq('rebalanced'), 'rebalanced');

class AppModule {}
Module({
  imports: [KqModule.forRoot({ brokers, group: 'flow', sessionTimeout: '6s' })],
  providers: [Flow],
})(AppModule);

const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error'] });
await once(process.stdin, 'data');
await app.close();
process.stdin.destroy();

function decorate(decorator, method) {
  decorator(Flow.prototype, method, Object.getOwnPropertyDescriptor(Flow.prototype, method));
}

/** `at`: microseconds on a clock that all processes of this machine share. */
function print(fact) {
  const at = Number(process.hrtime.bigint() / 1_000n);
  process.stdout.write(`${JSON.stringify({ by: name, at, ...fact })}\n`);
}
