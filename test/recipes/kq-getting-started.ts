/** The code of docs/kq/getting-started.md, in its order: docs.spec.ts compares them. */
import { Injectable, Module } from '@nestjs/common';
import { KqMessage, KqModule, KqPusher, TopicHandler, defineTopic } from 'nest-kq';

export interface OrderPlaced {
  id: string;
  total: number;
}

export const OrderPlacedTopic = defineTopic<OrderPlaced>('orders');

@Injectable()
export class Checkout {
  constructor(private readonly kq: KqPusher) {}

  async place(order: OrderPlaced) {
    const { partition, offset } = await this.kq.push(OrderPlacedTopic, order, { key: order.id });
    return `${partition}/${offset}`;
  }
}

@Injectable()
export class Invoices {
  @TopicHandler(OrderPlacedTopic, { group: 'invoices', retry: { attempts: 5 }, deadLetter: 'orders.dead' })
  async write(order: OrderPlaced, message: KqMessage<OrderPlaced>) {
    console.log(`order ${order.id}, try ${message.attempt}`);
  }
}

@Module({
  imports: [KqModule.forRoot({ brokers: ['localhost:9092'], group: 'shop' })],
  providers: [Checkout, Invoices],
})
export class AppModule {}
