import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Again, DqProducer, type DelayedJob } from 'nest-dq';
import { DqTestKit } from 'nest-dq/testing';
import type { Mail } from '../../sample-app/src/mail/mailer.js';
import { OrdersService } from '../../sample-app/src/orders/orders.service.js';
import { ResourcesService } from '../../sample-app/src/resources/resources.service.js';
import { OrderUnpaid, ResourceDeletion } from '../../sample-app/src/tubes.js';
import { eventually } from '../support/waiting.js';
import { RunningApp } from './running-app.js';

const TEA = { product: 'tea', quantity: 2 };
const PHOTOS = { name: 'photos', owner: 'ann@example.com' };
const NOBODY = '00000000-0000-4000-8000-000000000000';
const JOB = {} as DelayedJob;
const DAY = 86_400_000;

/** In one the time of jobs is the kit's; in the other nothing is due before the test is over. */
let travelling: RunningApp;
let patient: RunningApp;
const kit = new DqTestKit();

beforeAll(async () => {
  travelling = await RunningApp.start(
    { PAY_SECONDS: '900', WELCOME_SECONDS: '60', DAY_SECONDS: '86400' },
    kit,
  );
  patient = await RunningApp.start({ PAY_SECONDS: '600', WELCOME_SECONDS: '600', DAY_SECONDS: '60' });
}, 30_000);

afterAll(async () => {
  await Promise.all([travelling, patient].map((app) => app?.close()));
  await kit.close();
});

afterEach(() => {
  jest.restoreAllMocks();
});

async function stockOf(app: RunningApp, product: string): Promise<number> {
  return (await app.get('/stock')).body[product];
}

async function subjectsTo(address: string): Promise<string[]> {
  const { body } = await travelling.get('/mails');
  return (body as Mail[]).filter(({ to }) => to === address).map(({ subject }) => subject);
}

describe('an order', () => {
  it('takes its goods from stock', async () => {
    const before = await stockOf(patient, 'tea');
    const { status, body } = await patient.post('/orders', TEA);
    expect(status).toBe(201);
    expect(body).toEqual({ ...TEA, id: expect.any(String), status: 'placed', payBy: expect.any(String) });
    expect(await stockOf(patient, 'tea')).toBe(before - 2);
  });

  it('is cancelled when it is not paid in time, and its goods are back', async () => {
    const before = await stockOf(travelling, 'mug');
    const { body: order } = await travelling.post('/orders', { product: 'mug', quantity: 1 });
    const status = async () => (await travelling.get(`/orders/${order.id}`)).body.status;
    expect(kit.scheduled(OrderUnpaid)).toMatchObject([{ key: order.id, dueAt: new Date(order.payBy) }]);
    await kit.advance('14m');
    expect(await status()).toBe('placed');
    await kit.advance('1m');
    expect(await status()).toBe('cancelled');
    expect(await stockOf(travelling, 'mug')).toBe(before);
    expect((await travelling.post(`/orders/${order.id}/pay`)).status).toBe(409);
  });

  it('is paid, and its cancellation is revoked', async () => {
    const { body: order } = await patient.post('/orders', TEA);
    const revokes = jest.spyOn(patient.nest.get(DqProducer), 'revoke');
    const paid = await patient.post(`/orders/${order.id}/pay`);
    expect(paid).toEqual({ status: 200, body: { ...order, status: 'paid' } });
    expect(await patient.post(`/orders/${order.id}/pay`)).toEqual(paid);
    expect(revokes.mock.calls).toEqual([[{ tube: OrderUnpaid, key: order.id }]]);
    expect(await revokes.mock.results[0]?.value).toBe('revoked');
  });

  it('stays paid when the cancellation runs all the same', async () => {
    const { body: order } = await patient.post('/orders', TEA);
    await patient.post(`/orders/${order.id}/pay`);
    const before = await stockOf(patient, 'tea');
    patient.nest.get(OrdersService).cancelUnpaid({ orderId: order.id }, JOB);
    expect((await patient.get(`/orders/${order.id}`)).body.status).toBe('paid');
    expect(await stockOf(patient, 'tea')).toBe(before);
  });

  it('has more time when that is asked for, until it is paid', async () => {
    const { body: order } = await patient.post('/orders', TEA);
    const ref = { tube: OrderUnpaid, key: order.id };
    const postponed = await patient.post(`/orders/${order.id}/postpone`);
    expect(postponed.status).toBe(200);
    expect(Date.parse(postponed.body.payBy)).toBeGreaterThan(Date.parse(order.payBy));
    const job = await patient.nest.get(DqProducer).find(ref);
    expect(job).toMatchObject({ state: 'waiting', dueAt: new Date(postponed.body.payBy) });
    await patient.post(`/orders/${order.id}/pay`);
    expect((await patient.post(`/orders/${order.id}/postpone`)).status).toBe(409);
  });

  it('is refused when there is too little in stock', async () => {
    const before = await stockOf(patient, 'kettle');
    expect((await patient.post('/orders', { product: 'kettle', quantity: before + 1 })).status).toBe(409);
    expect(await stockOf(patient, 'kettle')).toBe(before);
  });

  it('is refused with 503, its goods kept, when the job cannot be stored', async () => {
    const endpoint = `127.0.0.1:${await freePort()}`;
    const cutOff = await RunningApp.start({ DQ_BEANSTALKS: endpoint, DQ_REDIS: `redis://${endpoint}` });
    try {
      const before = await stockOf(cutOff, 'tea');
      expect((await cutOff.post('/orders', TEA)).status).toBe(503);
      expect(await stockOf(cutOff, 'tea')).toBe(before);
      expect((await cutOff.get('/orders')).body).toEqual([]);
    } finally {
      await cutOff.close();
    }
  });
});

describe('a restart', () => {
  it('keeps orders, stock and jobs: an order is cancelled in time by the next process', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'sample-app-'));
    try {
      const env = { DATA_DIR: folder, PAY_SECONDS: '1' };
      const first = await RunningApp.start(env);
      const before = await stockOf(first, 'tea');
      const { body: order } = await first.post('/orders', TEA);
      await first.close();
      const second = await RunningApp.start(env);
      try {
        expect((await second.get(`/orders/${order.id}`)).body).toMatchObject({ ...TEA, payBy: order.payBy });
        await eventually('the order is cancelled', async () => {
          return (await second.get(`/orders/${order.id}`)).body.status === 'cancelled';
        });
        expect(await stockOf(second, 'tea')).toBe(before);
      } finally {
        await second.close();
      }
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});

describe('a registration', () => {
  it('brings a welcome mail, and only one', async () => {
    await travelling.post('/users', { name: 'Ann', email: 'ann@once.example' });
    await kit.advance('1h');
    expect(await subjectsTo('ann@once.example')).toEqual(['Welcome, Ann!']);
  });

  it('brings it later when the mail server is busy, and goes without it when there is no mailbox', async () => {
    await travelling.post('/users', { name: 'Cy', email: 'cy@gone.example' });
    await travelling.post('/users', { name: 'Bob', email: 'bob@busy.example' });
    await kit.advance('1m');
    expect(await subjectsTo('bob@busy.example')).toEqual([]);
    await kit.advance('1h');
    expect(await subjectsTo('bob@busy.example')).toEqual(['Welcome, Bob!']);
    expect(await subjectsTo('cy@gone.example')).toEqual([]);
  });
});

describe('a resource', () => {
  it('is deleted on day 30, after three notices', async () => {
    const owner = 'owner@example.com';
    const { body: resource } = await travelling.post('/resources', { ...PHOTOS, owner });
    const planned = await travelling.delete(`/resources/${resource.id}`);
    expect(planned.status).toBe(202);
    const dues = [...planned.body.deletion.notices, planned.body.deletion.at].map((due) => Date.parse(due));
    expect(dues.map((due) => due - Math.min(...dues))).toEqual([0, 5, 6, 7].map((days) => days * DAY));
    const shown = () => travelling.get(`/resources/${resource.id}`);
    await kit.advance('23 days');
    expect(await subjectsTo(owner)).toEqual(['photos will be deleted in 7 days']);
    await kit.advance('6 days');
    expect(await subjectsTo(owner)).toEqual([
      'photos will be deleted in 7 days',
      'photos will be deleted in 2 days',
      'photos will be deleted in a day',
    ]);
    expect((await shown()).status).toBe(200);
    await kit.advance('1 day');
    expect((await shown()).status).toBe(404);
  });

  it('stays when its deletion is undone, and can be deleted anew', async () => {
    const { body: resource } = await patient.post('/resources', PHOTOS);
    const path = `/resources/${resource.id}`;
    expect((await patient.delete(path)).status).toBe(202);
    expect((await patient.delete(path)).status).toBe(409);
    const revokes = jest.spyOn(patient.nest.get(DqProducer), 'revoke');
    expect(await patient.post(`${path}/undo`)).toEqual({ status: 200, body: { ...resource, revoked: true } });
    expect(revokes.mock.calls).toEqual([[{ tube: ResourceDeletion, key: resource.id }]]);
    expect((await patient.post(`${path}/undo`)).status).toBe(409);
    expect((await patient.delete(path)).status).toBe(202);
  });

  it('has one deletion when two ask at once', async () => {
    const { body: resource } = await patient.post('/resources', PHOTOS);
    const both = await Promise.all([1, 2].map(() => patient.delete(`/resources/${resource.id}`)));
    expect(new Set(both.map(({ status }) => status))).toEqual(new Set([202, 409]));
  });

  it('is not deleted by a job of a deletion that was undone, which goes on to the one that was planned since', async () => {
    const { body: resource } = await patient.post('/resources', PHOTOS);
    const service = patient.nest.get(ResourcesService);
    const early = { dueAt: new Date() } as DelayedJob;
    expect(await service.advanceDeletion({ resourceId: resource.id }, early)).toBeUndefined();
    const { body: planned } = await patient.delete(`/resources/${resource.id}`);
    const again = await service.advanceDeletion({ resourceId: resource.id }, early);
    expect(again).toEqual(Again.at(new Date(planned.deletion.notices[0])));
    expect((await patient.get(`/resources/${resource.id}`)).status).toBe(200);
  });
});

describe('bad input', () => {
  it.each([
    ['/orders', undefined, 'the body is missing'],
    ['/orders', '{', 'JSON'],
    ['/orders', [], 'the body is missing'],
    ['/orders', { quantity: 1 }, '`product` is missing'],
    ['/orders', { product: ' ', quantity: 1 }, '`product` is " "'],
    ['/orders', { product: 'tea', quantity: 0 }, '`quantity` is 0'],
    ['/orders', { product: 'tea', quantity: 1.5 }, '`quantity` is 1.5'],
    ['/orders', { product: 'tea', quantity: '1e3' }, '`quantity` is "1e3"'],
    ['/orders/1/pay', undefined, 'uuid'],
    ['/users', { name: 'Ann', email: 'ann' }, '`email` is "ann"'],
    ['/users', { name: { first: 'Ann' }, email: 'ann@example.com' }, '`name` is {"first":"Ann"}'],
    ['/resources', { name: 'x'.repeat(101), owner: 'ann@example.com' }, '`name`'],
    ['/resources/1/undo', undefined, 'uuid'],
  ])('POST %s with %j is answered 400, and %s', async (path, body, told) => {
    const answer = await patient.post(path, body);
    expect(answer.status).toBe(400);
    expect([answer.body.message].flat().join()).toContain(told);
  });

  it('names all mistakes at once', async () => {
    const { body } = await patient.post('/orders', {});
    expect(body.message).toHaveLength(2);
  });

  it.each([
    ['the order', '/orders/'],
    ['the resource', '/resources/'],
  ])('is answered 404 where %s does not exist', async (_what, path) => {
    expect((await patient.get(path + NOBODY)).status).toBe(404);
  });

  it('is answered 404 where the product does not exist', async () => {
    const { status, body } = await patient.post('/orders', { product: 'gold', quantity: 1 });
    expect(status).toBe(404);
    expect(body.message).toContain('there are tea, mug, kettle');
  });
});

/** A port that was free a moment ago, so nobody answers there. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
