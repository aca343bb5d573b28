import { describe, expect, it } from '@jest/globals';
import type { CopyHeader } from '../../copies/header.js';
import { heldDelivery, recordingLane } from '../../../spec-support/recording-lane.js';

describe('what a delivery owes', () => {
  const { lane } = recordingLane();
  const owed = (header: Partial<CopyHeader>) => heldDelivery(lane, header).owed;

  it('is what a primary names', () => {
    const siblings = [
      { index: 1, location: 'n1#i:1' },
      { index: 3, location: 'n3#i:1' },
    ];
    expect(owed({ siblings })).toEqual({ mask: 0b1011, unknown: false });
    expect(owed({})).toEqual({ mask: 1, unknown: false });
  });

  it('is unknown where a put of the primary got no answer', () => {
    const siblings = [{ index: 1, location: 'n1#i:?' }];
    expect(owed({ siblings })).toEqual({ mask: 0b11, unknown: true });
  });

  it('is every copy that was meant to be, as far as a backup knows', () => {
    expect(owed({ index: 2, copies: 3 })).toEqual({ mask: 0b111, unknown: false });
    expect(owed({ index: 2, copies: 31 })).toEqual({ mask: 2 ** 31 - 1, unknown: false });
  });
});

describe('a folded delivery', () => {
  it('reads its copy again when it is asked', () => {
    const { lane } = recordingLane();
    const siblings = [{ index: 1, location: 'n1#i:1' }];
    const content = { type: 'json', bytes: Buffer.from('{"a":1}') } as const;
    const delivery = heldDelivery(lane, { id: 'a', key: 'k', due: 7, siblings }, content);
    const { header } = delivery;
    const { due, priority, places } = delivery;
    delivery.fold();
    expect([delivery.due, delivery.priority, delivery.places]).toEqual([due, priority, places]);
    delivery.fold();
    expect(delivery.header).toEqual(header);
    expect(delivery.header).not.toBe(header);
    expect(delivery.content).toEqual(content);
  });
});
