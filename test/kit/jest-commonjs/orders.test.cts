import { expect, test } from '@jest/globals';
import { Injectable, Logger } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { DelayedHandler, DqModule, DqProducer, defineTube } from 'nest-dq';
import { DqTestKit } from 'nest-dq/testing';

const OrderCancel = defineTube<{ id: string }>('order.cancel');

@Injectable()
class Orders {
  readonly cancelled: string[] = [];

  constructor(private readonly dq: DqProducer) {}

  async place(id: string): Promise<void> {
    await this.dq.delay(OrderCancel, { id }, '15m');
  }

  @DelayedHandler(OrderCancel)
  async cancel({ id }: { id: string }): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    this.cancelled.push(id);
  }
}

test('runs what comes due', async () => {
  Logger.overrideLogger(false);
  const kit = new DqTestKit();
  const builder = Test.createTestingModule({ imports: [DqModule.forRoot()], providers: [Orders] });
  const app = await kit.override(builder).compile();
  await app.init();
  const orders = app.get(Orders);
  await orders.place('42');
  const placed = Date.now();
  expect(await kit.advance('15m')).toMatchObject({ started: 1, completed: 0 });
  expect(await kit.advance('1s')).toMatchObject({ completed: 1 });
  expect(Date.now() - placed).toBe(901_000);
  expect(orders.cancelled).toEqual(['42']);
  await app.close();
  await kit.close();
});
