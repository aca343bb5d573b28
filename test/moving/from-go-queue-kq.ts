/** The code of docs/kq/from-go-queue.md, in its order: docs.spec.ts compares them, and the spec in this folder runs it. */
import { Injectable, Module } from '@nestjs/common';
import { KqModule, KqPusher, TopicHandler } from 'nest-kq';

const kq = () => KqModule.forRoot({ brokers: process.env['BROKERS']?.split(','), group: 'adhoc' });

@Injectable()
export class Producer {
  constructor(private readonly kq: KqPusher) {}

  async rounds() {
    for (let round = 0; round < 3; round++) {
      const value = `${round},${Math.floor(Math.random() * 100)}`;
      await this.kq.push('kq', { key: String(Date.now()), value, payload: value });
    }
  }
}

@Injectable()
export class Consumer {
  @TopicHandler('kq', { concurrency: 8, from: 'first' })
  handle(message: { key: string; value: string; payload: string }) {
    console.log('=>', message);
  }
}

@Module({ imports: [kq()], providers: [Producer] })
export class ProducerModule {}

@Module({ imports: [kq()], providers: [Consumer] })
export class ConsumerModule {}
