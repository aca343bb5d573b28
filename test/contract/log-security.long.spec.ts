// Who may use the brokers, by TLS and a login.
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { LogDriver } from 'nest-kq/src/driver/driver.js';
import { KafkajsDriver } from 'nest-kq/src/driver/kafkajs/kafkajs-driver.js';
import type { DriverFactory, ClientOptions } from 'nest-kq/src/driver/client-options.js';
import { systemClock } from 'nest-handlers/time';
import { startKafka, type KafkaServer } from 'test-servers';
import { confluentDriver } from './log-harness.js';
import { failing, MemberUnderTest, message, stored } from './log-facts.js';

const TOPIC = 'orders';
const NONE = { debug: () => undefined, warn: () => undefined, error: () => undefined };
const ANN = { username: 'ann', password: 'ann-secret' };
const MECHANISMS = ['plain', 'scram-sha-256', 'scram-sha-512'] as const;

let server: KafkaServer;
const opened: LogDriver[] = [];
const DRIVERS: readonly (readonly [name: string, make: DriverFactory])[] = [
  ['kafkajs', (options) => new KafkajsDriver(options)],
  ...(confluentDriver ? [["Confluent's client", confluentDriver] as const] : []),
];

beforeAll(async () => {
  server = await startKafka({ tls: true, users: [ANN] });
  const { admin } = open();
  await admin.createTopics([{ topic: TOPIC, partitions: 1 }]);
}, 60_000);
afterEach(async () => {
  for (const driver of opened.splice(0)) await driver.close();
});
afterAll(() => server.stop());

function open(over: Partial<ClientOptions> = {}, make: DriverFactory = DRIVERS[0]![1]): LogDriver {
  const driver = make({
    brokers: [server.endpoint],
    clock: systemClock,
    log: NONE,
    ssl: { ca: server.ca },
    sasl: { mechanism: 'plain', ...ANN },
    ...over,
  });
  opened.push(driver);
  return driver;
}

function join(driver: LogDriver, group: string): MemberUnderTest {
  return new MemberUnderTest(driver, { group, topics: [TOPIC], from: 'first' });
}

describe.each(DRIVERS)('%s', (name, make) => {
  it.each(MECHANISMS)('sends and reads after a login by %s', async (mechanism) => {
    const driver = open({ sasl: { mechanism, ...ANN } }, make);
    const [sent] = stored(await driver.producer().send(TOPIC, [message(mechanism)]));
    const member = join(driver, `${name}-reads-${mechanism}`);
    await member.start();
    await member.receives(Number(sent?.offset) + 1);
    expect(member.values.at(-1)).toBe(mechanism);
  });

  it.each([
    ['a wrong password', { sasl: { mechanism: 'scram-sha-512', username: 'ann', password: 'bob-secret' } }],
    [
      'a wrong password in plain text',
      { sasl: { mechanism: 'plain', username: 'ann', password: 'bob-secret' } },
    ],
    ['a certificate that nobody vouches for', { ssl: true }],
  ] as const)('is refused at once with %s', async (_what, over) => {
    const driver = open(over, make);
    const refused = failing('KQ_REFUSED');
    await expect(driver.producer().send(TOPIC, [message('a')])).resolves.toEqual([refused]);
    await expect(driver.producer({ transactionalId: 't' }).transaction()).rejects.toEqual(refused);
    await expect(driver.admin.topics()).rejects.toEqual(refused);
    const member = join(driver, 'refused');
    await expect(member.start()).rejects.toEqual(refused);
  });
});
