import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DqProducer } from 'nest-dq';
import { DqTestKit } from 'nest-dq/testing';
import { KqTestKit } from 'nest-kq/testing';
import { OrderUnpaid } from '../src/orders/orders.service.js';
import { TestApp } from './test-app.js';

const TEA = { product: 'tea', quantity: 2 };
const PHOTOS = { name: 'photos', owner: 'ann@example.com' };
const NOBODY = '00000000-0000-4000-8000-000000000000';

/** Its time stands still, unless a test moves it. */
const kit = new DqTestKit();
const stream = new KqTestKit({ dq: kit });
let app: TestApp;

beforeAll(async () => {
  app = await TestApp.start({}, kit, stream);
});

afterAll(async () => {
  await app.close();
  await stream.close();
  await kit.close();
});

describe('over HTTP', () => {
  it('orders are placed, postponed and paid', async () => {
    const { status, body: order } = await app.request('POST', '/orders', TEA);
    expect(status).toBe(201);
    expect(order).toEqual({ ...TEA, id: expect.any(String), status: 'placed', payBy: expect.any(String) });
    expect((await app.request('GET', '/stock')).body).toMatchObject({ tea: 98 });
    expect((await app.request('POST', `/orders/${order.id}/postpone`)).status).toBe(200);
    const paid = await app.request('POST', `/orders/${order.id}/pay`);
    expect(paid).toMatchObject({ status: 200, body: { ...TEA, status: 'paid' } });
    expect(await app.request('GET', `/orders/${order.id}`)).toEqual(paid);
    expect((await app.request('GET', '/orders')).body).toEqual([paid.body]);
    expect((await app.request('POST', `/orders/${order.id}/postpone`)).status).toBe(409);
  });

  it('the sales follow the orders, also one whose price comes later', async () => {
    const place = async (product: string) => {
      const { body } = await app.request('POST', '/orders', { product, quantity: 2 });
      return body.id as string;
    };
    await place('kettle');
    await app.request('POST', `/orders/${await place('mug')}/pay`);
    const kettle = { placed: 1, paid: 0, cancelled: 0, turnover: 0 };
    const mug = { placed: 0, paid: 1, cancelled: 0, turnover: 18 };
    await stream.run();
    expect((await app.request('GET', '/sales')).body).toMatchObject({ mug });
    await kit.advance('1s'); // the message of the kettle comes back
    expect((await app.request('GET', '/sales')).body).toMatchObject({ mug, kettle });
  });

  it('users register, and have a mail', async () => {
    const { status } = await app.request('POST', '/users', { name: ' Ann ', email: 'ann@example.com' });
    expect(status).toBe(201);
    await kit.advance('3s');
    const { body: mails } = await app.request('GET', '/mails');
    expect(mails).toMatchObject([{ to: 'ann@example.com', subject: 'Welcome, Ann!' }]);
  });

  it('the deletion of a resource is planned and undone', async () => {
    const { body: resource } = await app.request('POST', '/resources', PHOTOS);
    const path = `/resources/${resource.id}`;
    const planned = await app.request('DELETE', path);
    expect(planned).toEqual({
      status: 202,
      body: { ...resource, deletion: { at: expect.any(String), notices: expect.any(Array) } },
    });
    expect(await app.request('GET', path)).toEqual({ status: 200, body: planned.body });
    const undone = await app.request('POST', `${path}/undo`);
    expect(undone).toEqual({ status: 200, body: { ...resource, revoked: true } });
    expect((await app.request('POST', `${path}/undo`)).status).toBe(409);
  });

  it('an order is answered 503 while its job cannot be stored', async () => {
    for (const node of [0, 1, 2]) kit.sleepNode(node);
    expect((await app.request('POST', '/orders', TEA)).status).toBe(503);
    for (const node of [0, 1, 2]) kit.wakeNode(node);
  });

  it.each([
    ['/orders', undefined, 'product'],
    ['/orders', '{', 'JSON'],
    ['/orders', [], 'product'],
    ['/orders', { quantity: 1 }, 'product'],
    ['/orders', { product: ' ', quantity: 1 }, 'product'],
    ['/orders', { product: 'tea', quantity: 0 }, 'quantity'],
    ['/orders', { product: 'tea', quantity: 1.5 }, 'quantity'],
    ['/orders', { product: 'tea', quantity: 'two' }, 'quantity'],
    ['/orders/1/pay', undefined, 'uuid'],
    ['/users', { name: 'Ann', email: 'ann' }, 'email'],
    ['/users', { name: { first: 'Ann' }, email: 'ann@example.com' }, 'name'],
    ['/resources', { name: 'x'.repeat(101), owner: 'ann@example.com' }, 'name'],
    ['/resources/1/undo', undefined, 'uuid'],
  ])('POST %s with %j is answered 400, and names %s', async (path, body, expected) => {
    const answer = await app.request('POST', path, body);
    expect(answer.status).toBe(400);
    expect([answer.body.message].flat().join()).toContain(expected);
  });

  it('an answer names all mistakes at once', async () => {
    const { body } = await app.request('POST', '/orders', {});
    expect(body.message).toHaveLength(2);
  });

  it.each(['/orders/', '/resources/'])('%s is answered 404 with an id that nobody has', async (path) => {
    expect((await app.request('GET', path + NOBODY)).status).toBe(404);
  });

  it('an order of a product that does not exist is answered 404', async () => {
    const { status, body } = await app.request('POST', '/orders', { product: 'gold', quantity: 1 });
    expect(status).toBe(404);
    expect(body.message).toContain('there are tea, mug, kettle');
  });
});

it('keeps orders, stock and jobs over a restart', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sample-app-'));
  const env = { DATA_DIR: folder, PAY_SECONDS: '600' };
  const first = await TestApp.start(env);
  const { body: order } = await first.request('POST', '/orders', TEA);
  await first.close();
  const second = await TestApp.start(env);
  try {
    expect((await second.request('GET', '/orders')).body).toEqual([order]);
    expect((await second.request('GET', '/stock')).body).toMatchObject({ tea: 98 });
    const job = await second.nest.get(DqProducer).find({ tube: OrderUnpaid, key: order.id });
    expect(job).toMatchObject({ state: 'waiting', dueAt: new Date(order.payBy) });
  } finally {
    await second.close();
    await rm(folder, { recursive: true, force: true });
  }
});
