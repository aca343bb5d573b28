import { expect, it } from '@jest/globals';
import type { FetchedMessage } from './fetch-answers.js';
import { takeMessage } from './wording.js';

it('leaves kafkajs no bytes of a message that it takes', () => {
  const [key, value, header] = [Buffer.from('k'), Buffer.from('v'), Buffer.from('h')];
  const fetched: FetchedMessage = { offset: '7', timestamp: '12', key, value, headers: { header } };
  expect(takeMessage(fetched)).toEqual({ offset: 7n, timestamp: 12, key, value, headers: { header } });
  expect(fetched).toEqual({ offset: '7', timestamp: '12', key: null, value: null });
});
