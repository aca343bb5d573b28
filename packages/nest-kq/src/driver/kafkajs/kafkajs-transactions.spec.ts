import { expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { systemClock } from 'nest-handlers/time';
import { KafkajsDriver } from './kafkajs-driver.js';

/** Where nobody listens. */
async function nowhere(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return `127.0.0.1:${port}`;
}

it('waits for no broker once it is closed', async () => {
  const brokers = [await nowhere()];
  let tell = () => {};
  const told = new Promise<void>((resolve) => (tell = resolve));
  const log = { debug: () => undefined, warn: tell, error: () => undefined };
  const driver = new KafkajsDriver({ brokers, clock: systemClock, log });
  const producer = driver.producer({ transactionalId: 'shop', patience: 86_400_000 });
  const begun = expect(producer.transaction()).rejects.toMatchObject({ code: 'KQ_CLOSED' });
  await told; // that none can be reached
  await producer.close();
  await begun;
  await driver.close();
});
