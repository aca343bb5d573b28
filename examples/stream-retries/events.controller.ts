import { randomUUID } from 'node:crypto';
import { Body, Controller, Get, HttpCode, Param, ParseEnumPipe, Post } from '@nestjs/common';
import { duration } from 'nest-dq';
import { KqMessage, KqPusher, TopicHandler, defineTopic } from 'nest-kq';
import { Customers, type CustomerEvent } from './customers.js';

const RETRY_AFTER = duration(process.env.RETRY_AFTER ?? '10s');
const Events = defineTopic<CustomerEvent>('events');

@Controller()
export class EventsController {
  constructor(
    private readonly kq: KqPusher,
    private readonly customers: Customers,
  ) {}

  @Post('events')
  async push(@Body('customer') customer: string, @Body('text') text: string) {
    const event = { id: randomUUID(), customer, text };
    await this.kq.push(Events, event, { key: customer });
    return event;
  }

  /** Throws while the customer's server is down. The message then waits as a job, and those after it are delivered meanwhile. */
  @TopicHandler(Events, { retry: { through: 'dq', attempts: 10, backoff: RETRY_AFTER } })
  async deliver(event: CustomerEvent, { attempt }: KqMessage) {
    await this.customers.post(event, attempt);
  }

  @Get('received')
  received() {
    return this.customers.list();
  }

  @Post('customers/:customer/:state')
  @HttpCode(204)
  set(
    @Param('customer') customer: string,
    @Param('state', new ParseEnumPipe({ up: 'up', down: 'down' })) state: 'up' | 'down',
  ) {
    this.customers.set(customer, state);
  }
}
