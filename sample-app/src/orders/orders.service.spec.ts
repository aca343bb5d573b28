import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { DelayedJob } from 'nest-dq';
import { DqTestKit } from 'nest-dq/testing';
import { KqError, KqPusher } from 'nest-kq';
import { TestApp } from '../../test/test-app.js';
import { StockService } from '../stock/stock.service.js';
import { OrderUnpaid, OrdersService } from './orders.service.js';

const TEA = { product: 'tea', quantity: 2 };

describe('OrdersService', () => {
  let kit: DqTestKit;
  let app: TestApp;
  let orders: OrdersService;
  let stock: StockService;

  beforeAll(async () => {
    // Date.now() keeps pace with the kit. The topics advance by themselves.
    jest.useFakeTimers({
      doNotFake: ['nextTick', 'performance', 'setImmediate', 'setTimeout', 'clearTimeout'],
    });
    kit = new DqTestKit();
    app = await TestApp.start({ PAY_SECONDS: '900' }, kit);
    orders = app.nest.get(OrdersService);
    stock = app.nest.get(StockService);
  });

  afterAll(async () => {
    jest.useRealTimers();
    await app.close();
    await kit.close();
  });

  it('takes the goods of an order from stock', async () => {
    const before = stock.list().tea!;
    const order = await orders.place(TEA);
    expect(order).toEqual({ ...TEA, id: order.id, status: 'placed', payBy: expect.any(String) });
    expect(stock.list().tea).toBe(before - 2);
  });

  it('cancels an order that is not paid in 15 minutes, and puts its goods back', async () => {
    const before = stock.list().mug;
    const { id, payBy } = await orders.place({ product: 'mug', quantity: 1 });
    expect(kit.scheduled(OrderUnpaid)).toContainEqual(
      expect.objectContaining({ key: id, dueAt: new Date(payBy) }),
    );
    await kit.advance('14m');
    expect(orders.get(id).status).toBe('placed');
    await kit.advance('1m');
    expect(orders.get(id).status).toBe('cancelled');
    expect(stock.list().mug).toBe(before);
    await expect(orders.pay(id)).rejects.toThrow('was not paid in time');
  });

  it('revokes the cancellation of an order that is paid', async () => {
    const order = await orders.place(TEA);
    const paid = { ...order, status: 'paid' };
    expect(await orders.pay(order.id)).toEqual(paid);
    expect(await orders.pay(order.id)).toEqual(paid);
    expect(kit.scheduled(OrderUnpaid).map(({ key }) => key)).not.toContain(order.id);
    await kit.advance('15m');
    expect(orders.get(order.id).status).toBe('paid');
  });

  it('leaves a paid order alone when the cancellation runs all the same', async () => {
    const { id } = await orders.place(TEA);
    await orders.pay(id);
    const before = stock.list().tea;
    await orders.cancelUnpaid({ orderId: id }, {} as DelayedJob);
    expect(orders.get(id).status).toBe('paid');
    expect(stock.list().tea).toBe(before);
  });

  it('gives an order that is postponed 15 minutes from then on', async () => {
    const { id } = await orders.place(TEA);
    await kit.advance('14m');
    const { payBy } = await orders.postpone(id);
    expect(new Date(payBy)).toEqual(new Date(kit.now.getTime() + 900_000));
    await kit.advance('14m');
    expect(orders.get(id).status).toBe('placed');
    await kit.advance('1m');
    expect(orders.get(id).status).toBe('cancelled');
    await expect(orders.postpone(id)).rejects.toThrow('is not awaiting payment');
  });

  it('cancels an order that the topic never received', async () => {
    const before = stock.list().mug;
    const push = jest.spyOn(app.nest.get(KqPusher), 'push');
    push.mockRejectedValueOnce(new KqError('KQ_AWAY', 'no broker answered'));
    await expect(orders.place({ product: 'mug', quantity: 1 })).rejects.toMatchObject({ code: 'KQ_AWAY' });
    push.mockRejectedValueOnce(new KqError('KQ_AWAY', 'no broker answered')); // its job tries again
    await kit.advance('16m');
    push.mockRestore();
    expect(orders.list().at(-1)).toMatchObject({ product: 'mug', status: 'cancelled' });
    expect(stock.list().mug).toBe(before);
  });

  it('takes nothing from stock when there is too little, or when the job cannot be stored', async () => {
    const before = stock.list().kettle!;
    const kettles = (quantity: number) => orders.place({ product: 'kettle', quantity });
    await expect(kettles(before + 1)).rejects.toThrow(`${before} left`);
    for (const node of [0, 1, 2]) kit.sleepNode(node);
    await expect(kettles(1)).rejects.toMatchObject({ code: 'DQ_TOO_FEW_COPIES' });
    for (const node of [0, 1, 2]) kit.wakeNode(node);
    expect(stock.list().kettle).toBe(before);
  });
});
