import { afterEach, expect, it, jest } from '@jest/globals';
import type { Producer } from 'kafkajs';
import { systemClock } from 'nest-handlers/time';
import type { ProducerContext } from '../broker-driver.js';
import type { Placed } from '../placing.js';
import { leadersOf } from '../topic-leaders.js';
import { KafkajsClient } from './kafkajs-client.js';
import { KafkajsProducer } from './kafkajs-producer.js';
import { Session } from './kafkajs-session.js';

const log = { debug: () => undefined, warn: () => undefined, error: () => undefined };
const client = new KafkajsClient({ brokers: ['nowhere:1'], clock: systemClock, log } as never);
const message = (partition: number) => ({ key: null, value: Buffer.from('v'), partition });

afterEach(() => void jest.restoreAllMocks());

it('names the partitions for which kafkajs silently stored nothing', async () => {
  const placed = [0, 1, 0].map((partition, index) => ({ index, partition, message: message(partition) }));
  const session = new Session(client, {});
  const answers = (...partitions: number[]) => ({
    send: async () =>
      partitions.map((partition) => ({ topicName: 't', partition, errorCode: 0, baseOffset: '7' })),
  });
  const send = (sender: Pick<Producer, 'send'>) => session.send('t', placed, Infinity, sender);
  await expect(send(answers(0))).resolves.toEqual([
    { partition: 0, offset: 7n },
    undefined,
    { partition: 0, offset: 8n },
  ]);
  expect(session.isSpoiled('t', placed)).toBe(false);
  await expect(send(answers())).rejects.toMatchObject({ code: 'KQ_AWAY', indeterminate: true });
  expect(session.isSpoiled('t', placed)).toBe(true);
});

it('sends only those again', async () => {
  const sent: number[][] = [];
  jest.spyOn(Session.prototype, 'connect').mockResolvedValue();
  jest.spyOn(Session.prototype, 'send').mockImplementation(async (_topic, placed: readonly Placed[]) => {
    const partitions = placed.map(({ partition }) => partition);
    sent.push(partitions);
    return partitions.map((partition) =>
      partition === 0 || sent.length > 1 ? { partition, offset: 7n } : undefined,
    );
  });
  const topics = { known: () => leadersOf([1, 1, 1]) };
  const producer = new KafkajsProducer({ client, topics } as unknown as ProducerContext<KafkajsClient>, {});
  const answers = await producer.send('t', [message(0), message(1), message(2)]);
  expect(answers).toEqual([0, 1, 2].map((partition) => ({ partition, offset: 7n })));
  expect(sent).toEqual([
    [0, 1, 2],
    [1, 2],
  ]);
  await producer.close();
});
