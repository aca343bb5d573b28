import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { DqInspector } from 'nest-dq';
import { KqPusher } from 'nest-kq';
import { TestApp } from '../../test/test-app.js';
import { OrderChanged } from '../orders/order-changed.js';
import type { OrderStatus } from '../orders/order.js';
import { PriceList } from './price-list.js';

describe('SalesService', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await TestApp.start({});
  });

  afterAll(async () => {
    await app.close();
  });

  const tell = (id: string, product: string, status: OrderStatus) => {
    const order = { id, product, quantity: 3, status, payBy: '2030-01-01T00:00:00.000Z' };
    return app.nest.get(KqPusher).push(OrderChanged, order, { key: id });
  };

  it('counts an order once, by its last change, when its messages come twice', async () => {
    for (const status of ['placed', 'paid', 'placed', 'paid'] as const) await tell('a', 'tea', status);
    await tell('b', 'tea', 'placed');
    await tell('b', 'tea', 'cancelled');
    const { tea } = await app.answer('/sales', (sales) => sales.tea?.cancelled === 1 && sales.tea.paid === 1);
    expect(tea).toEqual({ placed: 0, paid: 1, cancelled: 1, turnover: 12 });
  });

  it('leaves a later change that has overtaken one which failed', async () => {
    const prices = jest.spyOn(app.nest.get(PriceList), 'priceOf');
    prices.mockRejectedValueOnce(new Error('busy')).mockResolvedValue(9);
    await tell('o', 'mug', 'placed');
    await tell('o', 'mug', 'paid');
    await app.answer('/sales', ({ mug }) => mug?.paid === 1);
    const tube = await app.nest.get(DqInspector).tube('kq/sample-app');
    expect(tube.waiting! + tube.due! + tube.running!).toBe(1);
    await over(app);
    const { mug } = await app.answer('/sales', () => true);
    expect(mug).toMatchObject({ placed: 0, paid: 1 });
    prices.mockRestore();
  });

  it('goes on with other orders while it waits for the price of one', async () => {
    let come!: (price: number) => void;
    const price = new Promise<number>((resolve) => (come = resolve));
    const prices = jest.spyOn(app.nest.get(PriceList), 'priceOf');
    prices.mockImplementation(async (product) => (product === 'kettle' ? price : 9));
    await tell('c', 'kettle', 'placed');
    await tell('c', 'kettle', 'paid');
    await tell('d', 'mug', 'placed');
    const before = await app.answer('/sales', ({ mug }) => mug?.placed === 1);
    expect(before.kettle).toBeUndefined();
    come(35);
    const { kettle } = await app.answer('/sales', (sales) => sales.kettle?.paid === 1);
    expect(kettle).toEqual({ placed: 0, paid: 1, cancelled: 0, turnover: 105 });
  });
});

/** Until no message waits as a job. */
async function over(app: TestApp): Promise<void> {
  for (;;) {
    const { waiting, due, running } = await app.nest.get(DqInspector).tube('kq/sample-app');
    if (waiting === 0 && due === 0 && running === 0) return;
    await setTimeout(20);
  }
}
