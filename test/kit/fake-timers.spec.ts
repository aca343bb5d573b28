import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { DqTestKit } from 'nest-dq/testing';

const START = Date.UTC(2030, 0, 1);
const SECOND = 1_000;
const MINUTE = 60 * SECOND;

let kit: DqTestKit;
let ran: number[];

describe("with Jest's fake timers", () => {
  beforeEach(async () => {
    jest.useFakeTimers({ now: START });
    kit = new DqTestKit();
    ran = [];
  });

  afterEach(async () => {
    await kit.close();
    jest.useRealTimers();
  });

  it('the kit begins at their time, and both move together', async () => {
    expect(kit.now).toEqual(new Date(START));
    await kit.consumer.consume('tube', () => void ran.push(Date.now() - START));
    await kit.producer.delay('tube', 1, '15m');
    await kit.producer.at('tube', 2, new Date(Date.now() + 20 * MINUTE));
    expect(await kit.advance('1h')).toMatchObject({ completed: 2 });
    expect(ran).toEqual([15 * MINUTE, 20 * MINUTE]);
    expect(Date.now()).toBe(START + 60 * MINUTE);
    await kit.producer.at('tube', 3, new Date(Date.now() + MINUTE));
    expect(await kit.advance('1m')).toMatchObject({ completed: 1 });
  });

  it("a handler's own timers take the kit's time", async () => {
    await kit.consumer.consume('tube', async () => {
      for (let i = 0; i < 3; i++) await new Promise((resolve) => setTimeout(resolve, 20 * SECOND));
      ran.push(Date.now() - START);
    });
    await kit.producer.delay('tube', 1, '5m');
    expect(await kit.advance('5m')).toMatchObject({ started: 1, completed: 0 });
    expect(await kit.advance('59s')).toMatchObject({ started: 0, completed: 0 });
    expect(await kit.advance('1s')).toMatchObject({ started: 0, completed: 1 });
    expect(ran).toEqual([6 * MINUTE]);
  });

  it("a handler's own immediates, ticks and microtasks take none", async () => {
    await kit.consumer.consume('tube', async () => {
      await new Promise((resolve) => setImmediate(resolve));
      await new Promise<void>((resolve) => process.nextTick(resolve));
      await new Promise<void>((resolve) => queueMicrotask(resolve));
      ran.push(Date.now() - START);
    });
    await kit.producer.now('tube', 1);
    expect(await kit.drain()).toMatchObject({ started: 1, completed: 1 });
    expect(ran).toEqual([0]);
  });

  it('timers of the application run on the way', async () => {
    const ticks: number[] = [];
    await kit.consumer.consume('tube', () => undefined);
    const every = setInterval(() => ticks.push(Date.now() - START), MINUTE);
    await kit.advance('5m');
    clearInterval(every);
    expect(ticks).toEqual([1, 2, 3, 4, 5].map((minutes) => minutes * MINUTE));
  });
});

it('without them the kit moves alone', async () => {
  kit = new DqTestKit({ now: START });
  await kit.consumer.consume('tube', () => undefined);
  const before = Date.now();
  await kit.advance('1h');
  expect(Date.now() - before).toBeLessThan(MINUTE);
  expect(kit.now.getTime()).toBe(START + 60 * MINUTE);
  await kit.close();
});
