import { expect, it } from '@jest/globals';
import { withoutSecrets } from './secrets.js';

it.each([
  ['redis://user:s3cret@host:6379/0', 'redis://…@host:6379/0'],
  ['user:s3cret@host:9092', '…@host:9092'],
  ['redis://:s3c@ret@host', 'redis://…@host'],
  ['redis://:s3cret', 'redis://…'],
  ['http://host:11300/?token=s3cret', 'http://host:11300…'],
  ['redis://host:6379', 'redis://host:6379'],
  ['host:port', 'host:port'],
  ['Ab+/'.repeat(10) + 'Abc=', '… (44 characters)'],
  ['0'.repeat(64), '… (64 characters)'],
])('%s is shown as %s', (text, shown) => {
  expect(withoutSecrets(text)).toBe(shown);
});

it('leaves fields out that are named as secrets are, at any depth, and shows the rest', () => {
  class Client {
    readonly password = 's3cret';
  }
  const given = {
    host: 'h',
    port: 1,
    password: 's3cret',
    sentinels: [{ host: 's', sentinelPassword: 's3cret' }],
    tls: { key: 's3cret', rejectUnauthorized: true },
    deep: { deep: { deep: { deep: { deep: 's3cret' } } } },
    client: new Client(),
    bytes: Buffer.from('s3cret'),
    at: new Date(0),
    none: undefined,
  };
  expect(JSON.stringify(withoutSecrets(given))).not.toContain('s3cret');
  expect(withoutSecrets(given)).toMatchObject({
    host: 'h',
    port: 1,
    sentinels: [{ host: 's' }],
    tls: { rejectUnauthorized: true },
    at: new Date(0),
    bytes: '6 bytes',
  });
});

it.each([1, undefined, null, true])('shows %p as it is', (value) => {
  expect(withoutSecrets(value)).toBe(value);
});
