import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { DqTestKit } from 'nest-dq/testing';
import { KqPusher } from 'nest-kq';
import { KqTestKit } from 'nest-kq/testing';
import { TestApp } from '../../test/test-app.js';
import { OrderChanged } from '../orders/order-changed.js';
import type { OrderStatus } from '../orders/order.js';
import { PriceList } from './price-list.js';
import { SalesService } from './sales.service.js';

describe('SalesService', () => {
  const jobs = new DqTestKit({ patience: '50ms' });
  const stream = new KqTestKit({ dq: jobs });
  let app: TestApp;

  beforeAll(async () => {
    app = await TestApp.start({}, jobs, stream);
  });

  afterEach(() => {
    jest.restoreAllMocks();
  });

  afterAll(async () => {
    await app.close();
    await stream.close();
    await jobs.close();
  });

  const figures = () => app.nest.get(SalesService).figures();
  const prices = () => jest.spyOn(app.nest.get(PriceList), 'priceOf');
  const tell = (id: string, product: string, status: OrderStatus) => {
    const order = { id, product, quantity: 3, status, payBy: '2030-01-01T00:00:00.000Z' };
    return app.nest.get(KqPusher).push(OrderChanged, order, { key: id });
  };

  it('counts an order once, by its last change, when its messages come twice', async () => {
    for (const status of ['placed', 'paid', 'placed', 'paid'] as const) await tell('a', 'tea', status);
    await tell('b', 'tea', 'placed');
    await tell('b', 'tea', 'cancelled');
    expect(await stream.run()).toMatchObject({ handled: 6 });
    expect(figures()['tea']).toEqual({ placed: 0, paid: 1, cancelled: 1, turnover: 12 });
  });

  it('leaves a later change that has overtaken one which failed', async () => {
    prices().mockRejectedValueOnce(new Error('busy')).mockResolvedValue(9);
    await tell('o', 'mug', 'placed');
    await tell('o', 'mug', 'paid');
    expect(await stream.run()).toMatchObject({ handled: 1, failed: 1 });
    expect(jobs.scheduled('kq/sample-app')).toHaveLength(1);
    expect(await stream.advance('1s')).toMatchObject({ handled: 1, failed: 0 });
    expect(figures()['mug']).toMatchObject({ placed: 0, paid: 1 });
  });

  it('continues with other orders while it waits for the price of one', async () => {
    let come!: (price: number) => void;
    const price = new Promise<number>((resolve) => (come = resolve));
    prices().mockImplementation(async (product) => (product === 'kettle' ? price : 9));
    await tell('c', 'kettle', 'placed');
    await tell('c', 'kettle', 'paid');
    await tell('d', 'mug', 'placed');
    await stream.run();
    expect(figures()).toMatchObject({ mug: { placed: 1 } });
    expect(figures()['kettle']).toBeUndefined();
    come(35);
    await stream.run();
    expect(figures()['kettle']).toEqual({ placed: 0, paid: 1, cancelled: 0, turnover: 105 });
  });
});
