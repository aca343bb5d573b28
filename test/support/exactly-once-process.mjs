// A process that makes a result of each message in one transaction, for tests that kill it. Its argument is JSON.
// It prints each message whose result is pushed; with `stuck`, it then never commits.
import 'reflect-metadata';
import { once } from 'node:events';
import { Inject, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { KqModule, KqPusher, TopicHandler } from 'nest-kq';

const { brokers, group, orders, results, transactionalId, stuck } = JSON.parse(process.argv[2]);

class Flow {
  constructor(kq) {
    this.kq = kq;
  }

  async handle(value, message) {
    await this.kq.transaction(async (tx) => {
      await tx.push(results, value);
      tx.handled(message);
      process.stdout.write(`${JSON.stringify(value)}\n`);
      if (value === stuck) await new Promise(() => {});
    });
  }
}
const method = Object.getOwnPropertyDescriptor(Flow.prototype, 'handle');
Inject(KqPusher)(Flow, undefined, 0);
TopicHandler(orders, { order: 'partition', retry: { attempts: Infinity } })(Flow.prototype, 'handle', method);

class AppModule {}
Module({
  imports: [KqModule.forRoot({ brokers, group, sessionTimeout: '6s', pusher: { transactionalId } })],
  providers: [Flow],
})(AppModule);

const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error'] });
await once(process.stdin, 'data');
await app.close();
process.stdin.destroy();
