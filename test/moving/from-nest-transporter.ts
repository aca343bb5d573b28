/** The code of docs/kq/from-nest-transporter.md, in its order: docs.spec.ts compares them. */
import { Injectable, Module } from '@nestjs/common';
import { KqMessage, KqModule, KqPusher, TopicHandler } from 'nest-kq';

interface Order {
  readonly id: string;
}

declare class Store {
  save(order: Order, signal: AbortSignal): Promise<void>;
}

@Module({
  imports: [KqModule.forRoot({ brokers: ['localhost:9092'], group: 'shop-server' })],
})
export class AppModule {}

@Injectable()
export class Orders {
  constructor(
    private readonly kq: KqPusher,
    private readonly store: Store,
  ) {}

  async place(order: Order) {
    await this.kq.push('orders', order, { key: order.id });
  }

  @TopicHandler('orders', { retry: { attempts: 5 }, deadLetter: 'orders.dead' })
  async placed(order: Order, message: KqMessage<Order>) {
    await this.store.save(order, message.signal);
  }
}
