// The end of a job, for a process that doesn't run it, and the events of other processes.
import { randomBytes } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { eventually } from 'test-servers';
import { clusterSuite } from '../support/suite.js';

const suite = clusterSuite();

it('is known in every process, with the result that is kept, also later', async () => {
  const tube = 'ends';
  const [asks, runs] = [suite.start({ consume: false }), suite.start({ keepDone: {} })];
  await runs.consumer.consume(tube, (payload: unknown) => ({ doubled: Number(payload) * 2 }));
  const receipt = await asks.producer.delay(tube, 21, 300);
  const { id } = receipt;
  const done = { outcome: 'done', id, tube, attempt: 1, endedAt: expect.any(Date), result: { doubled: 42 } };
  const end = await asks.producer.finished<{ doubled: number }>(receipt);
  expect(end).toEqual(done);
  expect(end.result?.doubled).toBe(42);
  expect(await asks.producer.tube(tube).finished({ id })).toEqual(done);
});

it('is known after the ledger has lost its connection in the meantime', async () => {
  const tube = 'cut';
  const proxy = await suite.redisProxy();
  const asks = suite.start({ redis: `redis://${proxy.endpoint}` });
  const runs = suite.start();
  let end = (): void => undefined;
  const running = new Promise<void>((resolve) => {
    void runs.consumer.consume(tube, () => {
      resolve();
      return new Promise<void>((ended) => (end = ended));
    });
  });
  const receipt = await asks.producer.now(tube, 1);
  const call = asks.producer.finished(receipt);
  await running;
  proxy.cut();
  end();
  await eventually('it is done', async () => (await runs.producer.find(receipt))?.state === 'done');
  proxy.restore();
  expect(await call).toMatchObject({ outcome: 'done' });
});

it('rejects when the module is closed', async () => {
  const asks = suite.start();
  const receipt = await asks.producer.delay('closed', 1, '1h');
  const call = expect(asks.producer.finished(receipt)).rejects.toMatchObject({ code: 'DQ_CLOSED' });
  await asks.stop();
  await call;
});

it('is an event in other processes, if they want it', async () => {
  const [listens, runs, off] = [
    suite.start({ clusterEvents: true }),
    suite.start({ clusterEvents: true }),
    suite.start(),
  ];
  const heard: object[] = [];
  for (const name of ['completed', 'dead'] as const)
    listens.events.on(name, { scope: 'cluster' }).subscribe((event) => heard.push({ name, ...event }));
  expect(() => off.events.on('dead', { scope: 'cluster' })).toThrow('`clusterEvents: true`');
  await runs.consumer.consume(
    'told',
    (payload) => {
      if (payload === 'no') throw new Error('no');
    },
    { attempts: 1 },
  );
  await eventually('it listens', async () => {
    await listens.producer.finished(await listens.producer.now('told', 'yes'));
    return heard.length > 0;
  });
  heard.length = 0;
  const receipt = await listens.producer.now('told', 'no', { key: 'order-7' });
  await eventually('the death is reported', () => heard.length > 0);
  const { id, dueAt } = receipt;
  const event = { name: 'dead', id, tube: 'told', key: 'order-7', attempt: 1, dueAt, why: 'attempts' };
  const error = { name: 'Error', message: 'no' };
  expect(heard.at(-1)).toEqual({ ...event, at: expect.any(Date), process: expect.any(String), error });

  const seal = { keys: { a: randomBytes(32) }, current: 'a' };
  const sealed = suite.start({ clusterEvents: true, prefix: 'sealed.', seal, keepDone: {} });
  await sealed.consumer.consume('told', () => ({ secret: 'tea' }));
  const end = await sealed.producer.finished(await sealed.producer.now('told', 1, { key: 'private' }));
  expect(end).toMatchObject({ outcome: 'done', endedAt: expect.any(Date) });
  expect(end).not.toHaveProperty('result');
});
