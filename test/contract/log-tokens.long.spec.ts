// Who may use the brokers, by a token.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { inspect } from 'node:util';
import type { LogDriver } from 'nest-kq/src/driver/driver.js';
import { KafkajsDriver } from 'nest-kq/src/driver/kafkajs/kafkajs-driver.js';
import type { DriverFactory, SaslOptions } from 'nest-kq/src/driver/client-options.js';
import { systemClock } from 'nest-handlers/time';
import { eventually, startKafka, unsignedToken, type KafkaServer } from 'test-servers';
import { confluentDriver } from './log-harness.js';
import { failing, MemberUnderTest, message, stored } from './log-facts.js';

const TOPIC = 'orders';
const LIFETIME = 12_000;
const HOUR = 3_600_000;
type Ask = Extract<SaslOptions, { token: unknown }>['token'];

let server: KafkaServer;
let logged: string[];
const opened: LogDriver[] = [];
const DRIVERS: readonly (readonly [name: string, make: DriverFactory])[] = [
  ['kafkajs', (options) => new KafkajsDriver(options)],
  ...(confluentDriver ? [["Confluent's client", confluentDriver] as const] : []),
];
const KAFKAJS = DRIVERS[0]![1];

beforeAll(async () => {
  const renewed = { 'listener.name.clients.oauthbearer.connections.max.reauth.ms': String(HOUR) };
  server = await startKafka({ tokens: true, properties: renewed });
  logged = [];
  const { admin } = open(() => ({ value: unsignedToken('ann', HOUR) }), KAFKAJS);
  await admin.createTopics([{ topic: TOPIC, partitions: 1 }]);
}, 60_000);
beforeEach(() => {
  logged = [];
});
afterEach(async () => {
  for (const driver of opened.splice(0)) await driver.close();
});
afterAll(() => server.stop());

function open(token: Ask, make: DriverFactory): LogDriver {
  const tell = (line: string) => void logged.push(line);
  const driver = make({
    brokers: [server.endpoint],
    clock: systemClock,
    log: { debug: tell, warn: tell, error: tell },
    sasl: { mechanism: 'oauthbearer', token },
  });
  opened.push(driver);
  return driver;
}

describe.each(DRIVERS)('%s', (name, make) => {
  it('sends and reads by tokens, and asks for a new one before the old one ends', async () => {
    let asked = 0;
    const driver = open(async () => {
      asked++;
      return { value: unsignedToken('ann', LIFETIME), lifetime: Date.now() + LIFETIME, principal: 'ann' };
    }, make);
    const producer = driver.producer();
    const [first] = stored(await producer.send(TOPIC, [message('first')]));
    const member = new MemberUnderTest(driver, { group: `${name}-reads`, topics: [TOPIC], from: 'first' });
    await member.start();
    await member.receives(Number(first?.offset) + 1);
    const begin = asked;
    const end = performance.now() + 2 * LIFETIME;
    let last = first;
    await eventually('two lifetimes are over', async () => {
      [last] = stored(await producer.send(TOPIC, [message('next')]));
      return performance.now() > end;
    });
    await member.receives(Number(last?.offset) + 1);
    expect(asked).toBeGreaterThan(begin);
    expect(member.values.at(-1)).toBe('next');
  });

  it('is refused at once with a token that has ended, which nobody hears of', async () => {
    const value = unsignedToken('ann', -HOUR);
    const driver = open(() => ({ value, lifetime: Date.now() + HOUR, principal: 'ann' }), make);
    const [sent] = await driver.producer().send(TOPIC, [message('a')]);
    expect(sent).toEqual(failing('KQ_REFUSED'));
    await expect(driver.admin.topics()).rejects.toEqual(failing('KQ_REFUSED'));
    const member = new MemberUnderTest(driver, { group: `${name}-refused`, topics: [TOPIC], from: 'first' });
    const refusal = await member.start().catch((error: unknown) => error);
    expect(refusal).toEqual(failing('KQ_REFUSED'));
    expect(inspect([sent, refusal, logged], { depth: 10 })).not.toContain(value);
  });

  it.each<[string, Ask, string]>([
    ['the function fails', () => Promise.reject(new Error('no identity provider')), 'KQ_AWAY'],
    ['it gives no token', () => ({ value: 'a b-s3cret' }), 'KQ_CONFIG'],
  ])('says so where %s', async (_what, ask, code) => {
    const driver = open(ask, make);
    const sent = await driver.producer({ patience: 1_000 }).send(TOPIC, [message('a')]);
    expect(sent).toEqual([failing(code as 'KQ_AWAY')]);
    expect(inspect([sent, logged], { depth: 10 })).not.toContain('s3cret');
  });
});
