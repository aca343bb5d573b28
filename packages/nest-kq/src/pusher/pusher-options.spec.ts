import { describe, expect, it } from '@jest/globals';
import { resolvePusherOptions, type PusherOptions } from './pusher-options.js';

describe('resolvePusherOptions', () => {
  it('has defaults', () => {
    expect(resolvePusherOptions({})).toEqual({
      gatherer: { messages: 100_000, bytes: 67_108_864, requestBytes: 1_000_000 },
      producer: { patience: 30_000, compression: 'none', requestBytes: 1_000_000 },
      transactionalId: undefined,
    });
  });

  it.each<[unknown, string]>([
    [5, 'the options of the pusher are 5: expected an object with buffer, requestBytes'],
    [{ patiense: 1 }, 'there is no `patiense` in the options of the pusher: expected one of buffer'],
    [{ buffer: 5 }, 'the options of `buffer` are 5: expected an object with messages, bytes'],
    [
      { buffer: { byte: 5 } },
      'there is no `byte` in the options of `buffer`: expected one of messages, bytes',
    ],
    [{ buffer: { messages: 0 } }, '`buffer.messages` is 0: expected a whole number from 1 to 10000000'],
    [{ buffer: { bytes: '1' } }, "`buffer.bytes` is '1': expected a whole number"],
    [{ partitioner: 'murmur2' }, "`partitioner` is 'murmur2': expected a function"],
    [{ requestBytes: 1.5 }, '`requestBytes` is 1.5: expected a whole number'],
    [{ patience: -1 }, '`patience` is -1: negative; expected milliseconds'],
    [{ compression: 'brotli' }, "`compression` is 'brotli': expected one of none, gzip"],
    [{ transactionalId: '' }, "`transactionalId` is '': expected a name"],
  ])('refuses %p', (options, why) => {
    expect(() => resolvePusherOptions(options as PusherOptions)).toThrow(`KQ_CONFIG: ${why}`);
  });
});
