import { EventEmitter } from 'node:events';
import { expect, it } from '@jest/globals';
import { systemClock } from 'nest-handlers/time';
import { BrokerClient } from '../broker-client.js';
import type { ConfluentModule } from './confluent-api.js';
import { ConfluentSession } from './confluent-session.js';

const log = { debug: () => undefined, warn: () => undefined, error: () => undefined };
const client = new BrokerClient({ brokers: ['nowhere:1'], clock: systemClock, log } as never);

it('does not take a message for stored that has no offset', async () => {
  class Producer extends EventEmitter {
    produce(_topic: string, partition: number, ...[, , , opaque]: unknown[]): void {
      this.emit('delivery-report', null, { offset: partition === 0 ? 7 : -1_001, opaque });
    }
  }
  const session = new ConfluentSession(client, { Producer } as unknown as ConfluentModule, {});
  const message = { key: null, value: Buffer.from('v') };
  const placed = [0, 1].map((partition) => ({ index: partition, partition, message }));
  await expect(session.send('orders', placed)).resolves.toEqual([
    { partition: 0, offset: 7n },
    expect.objectContaining({ code: 'KQ_AWAY', indeterminate: true }),
  ]);
});

it.each(['Local: Fatal error', 'fatal error'])('stores nothing more after the event %j', (words) => {
  const producer = new EventEmitter();
  const module = {
    Producer: function () {
      return producer;
    },
  };
  const session = new ConfluentSession(client, module as unknown as ConfluentModule, {});
  producer.emit(
    'event.error',
    Object.assign(new Error('Local: All broker connections are down'), { code: -1 }),
  );
  expect(session.failure).toBeUndefined();
  const fatal = Object.assign(new Error(words), { code: -1 }); // their client loses the number of an event
  producer.emit('event.error', fatal);
  expect(session.failure).toBe(fatal);
});
