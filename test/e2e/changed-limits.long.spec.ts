import { describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { eventually } from 'test-servers';
import { clusterSuite } from '../support/suite.js';

const suite = clusterSuite();
const TUBE = 'mail.send';

/** Two processes with a handler whose runs end when `endAll` is called. */
async function twoProcesses() {
  const systems = [suite.start(), suite.start()] as const;
  const running = new Set<() => void>();
  let count = 0;
  for (const { consumer } of systems) {
    const handler = () =>
      new Promise<void>((resolve) => {
        const end = () => (running.delete(end), resolve());
        running.add(end);
        count++;
      });
    await consumer.consume(TUBE, handler, { concurrency: 10 });
  }
  const endAll = () => running.forEach((end) => end());
  return { systems, running, begun: () => count, endAll };
}

describe('limits changed at run time', () => {
  it('hold in all processes, those that start later too, and after a restart of Redis', async () => {
    const { systems, running, begun, endAll } = await twoProcesses();
    const [{ control, producer, inspector }] = systems;
    const changed = { limit: { concurrency: 3 }, concurrency: 2 };
    expect(await control.setLimits(TUBE, changed, { by: 'ana' })).toEqual(changed);
    const view = () => inspector.tube(TUBE);
    await eventually('both processes apply them', async () => {
      const { limits, changedLimits, consumers } = await view();
      return limits?.concurrency === 3 && !limits.unequal && changedLimits !== undefined && consumers === 2;
    });
    await producer.addMany(
      TUBE,
      Array.from({ length: 30 }, (_, payload) => ({ payload })),
    );
    await eventually('three run', () => running.size === 3);
    await suite.servers.redis.restart();
    for (let ended = 0; ended < 12; ended += 3) {
      await eventually('three run', () => running.size === 3);
      endAll();
    }
    const third = suite.start();
    let byThird = 0;
    await third.consumer.consume(TUBE, () => void byThird++, { concurrency: 10 });
    await eventually('the third applies them', async () =>
      (await third.inspector.processes()).every(({ tubes }) => tubes[0]?.limits?.concurrency === 3),
    );
    await third.stop();
    expect(await control.resetLimits(TUBE)).toEqual(changed);
    expect(await control.resetLimits(TUBE)).toBeUndefined();
    await eventually('more run', () => running.size > 3);
    await eventually('all ran', () => (endAll(), begun() + byThird === 30 && running.size === 0));
  }, 120_000);

  it('end at their time', async () => {
    const { systems, running, begun, endAll } = await twoProcesses();
    const [{ control, producer, inspector }, other] = systems;
    const until = new Date(Date.now() + 3_600_000);
    expect(await control.setLimits(TUBE, { concurrency: 1 }, { until })).toEqual({ concurrency: 1, until });
    expect(
      await other.control.setLimits(TUBE, { concurrency: 1 }, { until: new Date(Date.now() + 10_000) }),
    ).toEqual({
      concurrency: 1,
      until: expect.any(Date),
    });
    const shownUntil = async () => (await inspector.tube(TUBE)).changedLimits?.until?.getTime() ?? Infinity;
    await eventually('it is shown', async () => (await shownUntil()) < until.getTime());
    await producer.addMany(
      TUBE,
      Array.from({ length: 20 }, (_, payload) => ({ payload })),
    );
    await eventually('all slots are taken', () => running.size === 20);
    await eventually('it is over', async () => (await inspector.tube(TUBE)).changedLimits === undefined);
    await eventually('all ran', () => (endAll(), begun() === 20 && running.size === 0));
  }, 120_000);

  it('are refused if wrong, and what another program wrote in their place is ignored and replaced', async () => {
    const system = suite.start();
    const { control, log } = system;
    const refused = async (...given: Parameters<typeof control.setLimits>) =>
      control.setLimits(...given).then(String, (error: { code: string; message: string }) => error.message);
    expect(await refused(TUBE, {})).toContain(
      'the limits is {}: expected an object with `concurrency` or `limit`',
    );
    expect(await refused(TUBE, { concurrency: 0 })).toContain(
      '`concurrency` is 0: expected a positive integer',
    );
    expect(await refused(TUBE, { limit: { per: '1s' } as never })).toContain('`limit`');
    expect(await refused(TUBE, { concurrency: 1 }, { until: 9e15 })).toContain('or sooner');
    expect(await refused(TUBE, { concurrency: 1 }, { until: new Date(0) })).toContain(
      'expected a later time',
    );
    expect(await control.setLimits('nobody.knows', { concurrency: 1 })).toEqual({
      concurrency: 1,
      unknown: true,
    });
    const redis = new Redis(suite.servers.redis.url);
    const [key] = await redis.keys('*:limits');
    for (const foreign of ['what?', '[1]', '{"a":{"concurrency":-1}}', '{"a":{"limit":{"rate":5}}}']) {
      await redis.set(key!, foreign);
      expect(await control.setLimits(TUBE, { concurrency: 7 })).toMatchObject({ concurrency: 7 });
    }
    expect(log.filter((line) => line.includes('changed limits in Redis'))).toHaveLength(1);
    expect(await control.resetLimits(TUBE)).toEqual({ concurrency: 7 });
    redis.disconnect();
  }, 60_000);
});
