import { Inject, Injectable, Logger } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { DelayedHandler, DqModule, DqProducer, defineTube } from 'nest-dq';
import { DqTestKit } from 'nest-dq/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

const OrderCancel = defineTube<{ id: string; at: number }>('order.cancel');
const MINUTE = 60_000;

@Injectable()
class Orders {
  readonly cancelled: [id: string, after: number][] = [];

  constructor(@Inject(DqProducer) private readonly dq: DqProducer) {}

  async place(id: string): Promise<void> {
    await this.dq.delay(OrderCancel, { id, at: Date.now() }, '15m');
  }

  @DelayedHandler(OrderCancel)
  async cancel({ id, at }: { id: string; at: number }): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, 5));
    this.cancelled.push([id, Date.now() - at]);
  }
}

let kit: DqTestKit;
let app: TestingModule;

async function start(): Promise<Orders> {
  Logger.overrideLogger(false);
  kit = new DqTestKit();
  const builder = Test.createTestingModule({ imports: [DqModule.forRoot()], providers: [Orders] });
  app = await kit.override(builder).compile();
  await app.init();
  return app.get(Orders);
}

afterEach(async () => {
  await app.close();
  await kit.close();
});

it('runs what comes due, without waiting for it', async () => {
  const orders = await start();
  await orders.place('42');
  expect(await kit.advance('14m')).toMatchObject({ started: 0 });
  expect(kit.scheduled(OrderCancel)).toHaveLength(1);
  expect(await kit.advance('1m')).toMatchObject({ started: 1, completed: 1 });
  expect(orders.cancelled[0]![1]).toBeLessThan(MINUTE); // real time
});

describe("with Vitest's fake timers", () => {
  beforeEach(() => void vi.useFakeTimers({ now: Date.UTC(2030, 0, 1) }));
  afterEach(() => void vi.useRealTimers());

  it('moves them along', async () => {
    const orders = await start();
    await orders.place('42');
    expect(await kit.advance('15m')).toMatchObject({ started: 1, completed: 0 });
    expect(await kit.advance(5)).toMatchObject({ completed: 1 });
    expect(orders.cancelled).toEqual([['42', 15 * MINUTE + 5]]);
  });
});

it('works with everything faked, also what Vitest leaves alone', async () => {
  vi.useFakeTimers({ toFake: ['queueMicrotask', 'setImmediate', 'setTimeout', 'Date', 'performance'] });
  try {
    const orders = await start();
    await orders.place('42');
    expect(await kit.advance('16m')).toMatchObject({ completed: 1 });
  } finally {
    vi.useRealTimers();
  }
});
