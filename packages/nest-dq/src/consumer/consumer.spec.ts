import { beforeEach, describe, expect, it } from '@jest/globals';
import { clock, consumingInEachTest, world } from '../../spec-support/consuming.js';
import type { ClusterProducer } from '../producer/cluster-producer.js';
import { defineTube } from '../api/tube.js';
import { ClusterConsumer, type ClusterConsumerSettings } from './consumer.js';
import { DEFAULT_HANDLER_SETTINGS } from './run/handler-settings.js';
import type { ConsumerReport } from './report.js';

const SETTINGS: ClusterConsumerSettings = {
  prefix: '',
  backupDelay: 2_000,
  lease: 15_000,
  shutdownTimeout: 1_000,
  handlers: { ...DEFAULT_HANDLER_SETTINGS, concurrency: 1 },
  consume: true,
  deadLetters: { maxAge: 30 * 86_400_000, maxCount: 10_000 },
};
const SILENT = { lettersRemoved: () => undefined } as unknown as ConsumerReport;

describe('ClusterConsumer', () => {
  let producer: ClusterProducer;
  let make: (settings?: Partial<ClusterConsumerSettings>) => ClusterConsumer;

  consumingInEachTest();
  beforeEach(() => {
    const { parts } = world.process();
    ({ producer } = world);
    make = (settings) => new ClusterConsumer({ ...SETTINGS, ...settings }, { ...parts, report: SILENT });
  });

  it('runs handlers registered before and after the start, each with its own options', async () => {
    const consumer = make();
    const ran: string[] = [];
    let most = 0;
    let now = 0;
    await consumer.consume(defineTube<string>('before'), (payload) => void ran.push(payload));
    await producer.now('before', 'a');
    await clock.advance(1_000);
    expect(ran).toEqual([]);

    consumer.start();
    consumer.start();
    const work = async () => {
      most = Math.max(most, ++now);
      await new Promise<void>((resolve) => clock.after(100, resolve));
      now--;
    };
    await consumer.consume('after', work, { concurrency: 2 });
    for (let i = 0; i < 5; i++) await producer.now('after', i);
    await clock.advance(1_000);
    expect(ran).toEqual(['a']);
    expect(most).toBe(2);
    await Promise.all([consumer.stop(), clock.advance(5_000)]);
  });

  it('keeps the dead letters of a tube for as long as its handler says, or else the module', async () => {
    const consumer = make({ deadLetters: { maxAge: 3_600_000, maxCount: 2 } });
    await consumer.consume('own', () => undefined, { deadLetters: { maxAge: '1m' } });
    const usual = await consumer.consume('usual', () => undefined);
    expect(Object.fromEntries(consumer.retentions)).toEqual({
      own: { maxAge: 60_000, maxCount: 2 },
      usual: { maxAge: 3_600_000, maxCount: 2 },
    });
    await Promise.all([usual.stop(), clock.advance(5_000)]);
    expect([...consumer.retentions.keys()]).toEqual(['own']);
    await Promise.all([consumer.stop(), clock.advance(5_000)]);
  });

  it.each([
    [
      { deadLetters: { maxAge: '1s' } },
      /^DQ_BAD_OPTION: `deadLetters.maxAge` is "1s": expected 60000 ms or more$/,
    ],
    [{ deadLetters: '30d' }, /^DQ_BAD_OPTION: `deadLetters` is "30d": expected an object/],
    [{ keepDone: { max: 0 } }, /^DQ_BAD_OPTION: `keepDone.max` is 0: expected 1 to 1000000 \(the maximum\)$/],
  ])('refuses a handler with %j', async (options, message) => {
    await expect(make().consume('t', () => undefined, options as object)).rejects.toThrow(message);
  });

  it('reports the running and held deliveries of each tube', async () => {
    const consumer = make();
    await consumer.consume('busy', () => new Promise<void>((resolve) => clock.after(1_000, resolve)), {
      concurrency: 3,
    });
    await consumer.consume('early', () => undefined);
    consumer.start();
    await clock.advance(0);
    for (let i = 0; i < 3; i++) await producer.now('busy', i);
    for (let i = 0; i < 2; i++) await producer.delay('early', i, 900); // surfaces at once, and is held
    await clock.advance(500);
    const { attempts, backoff } = DEFAULT_HANDLER_SETTINGS;
    expect(consumer.load()).toEqual([
      { tube: 'busy', concurrency: 3, attempts, backoff, running: 3, held: 0, long: [] },
      { tube: 'early', concurrency: 1, attempts, backoff, running: 0, held: 2, long: [] },
    ]);
    await clock.advance(1_000);
    expect(consumer.load().every(({ running, held }) => running + held === 0)).toBe(true);
    await Promise.all([consumer.stop(), clock.advance(5_000)]);
  });

  it('takes one handler a tube, and another once the first has stopped', async () => {
    const consumer = make();
    const first = await consumer.consume('t', () => undefined);
    await expect(consumer.consume(defineTube('t'), () => undefined)).rejects.toMatchObject({
      code: 'DQ_CONFIG',
      message: expect.stringContaining('"t"'),
    });
    await first.stop();
    await first.stop();
    await expect(consumer.consume('t', () => undefined)).resolves.toBeDefined();
  });

  it('refuses invalid tubes and handlers', async () => {
    const consumer = make();
    const nothing = () => undefined;
    await expect(consumer.consume('a b', nothing)).rejects.toMatchObject({ code: 'DQ_BAD_TUBE' });
    const prefixed = make({ prefix: 'shop-' });
    await expect(prefixed.consume('x'.repeat(196), nothing)).rejects.toMatchObject({ code: 'DQ_BAD_TUBE' });
    await expect(consumer.consume('t', 5 as never)).rejects.toMatchObject({ code: 'DQ_BAD_OPTION' });
    await expect(consumer.consume('t', nothing, { concurrency: 0 })).rejects.toMatchObject({
      code: 'DQ_BAD_OPTION',
    });
    await expect(make({ consume: false }).consume('t', nothing)).rejects.toMatchObject({ code: 'DQ_CONFIG' });
    await consumer.stop();
    await expect(consumer.consume('t', nothing)).rejects.toMatchObject({ code: 'DQ_CLOSED' });
  });

  it('may be stopped before the start, and then does not start', async () => {
    const consumer = make();
    let ran = 0;
    await consumer.consume('t', () => void ran++);
    await Promise.all([consumer.stop(), consumer.stop()]);
    consumer.start();
    await producer.now('t', 1);
    await clock.advance(10_000);
    expect(ran).toBe(0);
  });
});
