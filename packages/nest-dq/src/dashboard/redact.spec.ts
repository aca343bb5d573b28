import { describe, expect, it } from '@jest/globals';
import type { KafkaLetter } from './kafka-cluster.js';
import { redactedLetter } from './redact.js';

const LETTER: KafkaLetter = {
  partition: 0,
  offset: '7',
  origin: { topic: 'orders' },
  key: null,
  diedAt: new Date(0),
  error: { name: 'Error', message: '', stack: '' },
  valueBytes: 0,
  value: null,
  headers: {},
  resolved: false,
};

describe('redactedLetter', () => {
  const valueOf = async (value: Buffer | null) => (await redactedLetter({}, { ...LETTER, value })).payload;

  it.each([
    ['a tombstone', null, null],
    ['JSON', Buffer.from('{"a":[1]}'), { a: [1] }],
    ['other text', Buffer.from('<b>hi</b>'), '<b>hi</b>'],
    ['nothing', Buffer.alloc(0), ''],
    ['bytes that are no text', Buffer.from([0xff, 0x00]), { base64: '/wA=' }],
  ])('shows %s', async (_, value, seen) => {
    expect(await valueOf(value)).toEqual({ headers: {}, value: seen });
  });

  it('shows all values of a header, whatever its name', async () => {
    const headers = Object.fromEntries([
      ['trace', [Buffer.from('a'), Buffer.from('b')]],
      ['__proto__', Buffer.from('c')],
    ]);
    const { payload } = await redactedLetter({}, { ...LETTER, headers });
    expect(JSON.stringify(payload)).toBe('{"headers":{"trace":["a","b"],"__proto__":"c"},"value":null}');
  });

  it('refuses a value that would stop a browser, and shows the size', async () => {
    const letter = { ...LETTER, valueBytes: 1_048_577 };
    await expect(redactedLetter({}, letter)).rejects.toThrow(/has 1048577 bytes.* at most 1048576/);
  });
});
