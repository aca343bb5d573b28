import { describe, expect, it } from '@jest/globals';
import type { BuriedRequest } from '../../ledger/requests.js';
import { heldDelivery, recordingLane } from '../../../spec-support/recording-lane.js';
import { Call, ScriptedLedger, turn } from '../../../spec-support/scripted-ledger.js';
import { VirtualClock } from '../../test-kit/virtual-clock.js';
import { Burials } from './burials.js';

describe('Burials', () => {
  it('tells once a turn where copies are, until the ledger has taken it', async () => {
    const clock = new VirtualClock();
    const ledger = new ScriptedLedger(clock);
    ledger.away = true;
    const calls: Call<BuriedRequest, never>[] = [];
    ledger.buried = async (requests) => {
      const call = new Call<BuriedRequest, never>(requests);
      calls.push(call);
      await call.answers;
    };
    const told: string[] = [];
    const burials = new Burials(ledger, clock, {
      answered: ({ header }) => told.push(header.id),
      trouble: () => undefined,
    });
    const { lane } = recordingLane();
    const siblings = [
      { index: 1, location: 'n1#i:5' },
      { index: 2, location: 'n2#i:?' },
    ];
    burials.add(heldDelivery(lane, { id: 'primary', copyId: '7', generation: 5, born: 3, siblings }));
    burials.add(heldDelivery(lane, { id: 'backup', copyId: '8', index: 2 }));
    await turn();
    const requests = [
      {
        id: 'primary',
        born: 3,
        places: [
          { index: 0, location: 'node#instance:7' },
          { index: 1, location: 'n1#i:5' },
        ],
      },
      { id: 'backup', born: 0, places: [{ index: 2, location: 'node#instance:8' }] },
    ];
    expect(calls.map((call) => call.requests)).toEqual([requests]);
    await calls[0]!.fail();
    await clock.advance(500);
    expect(calls.map((call) => call.requests)).toEqual([requests, requests]);
    expect(told).toEqual([]);
    await calls[1]!.answer();
    expect(told).toEqual(['primary', 'backup']);
    expect(burials.size).toBe(0);
  });
});
