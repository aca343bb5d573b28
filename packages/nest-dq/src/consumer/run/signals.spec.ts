import { beforeEach, describe, expect, it } from '@jest/globals';
import type { DqError } from '../../errors.js';
import { heldDelivery, recordingLane } from '../../../spec-support/recording-lane.js';
import type { ConsumerReport } from '../report.js';
import { Run } from './run.js';
import { Signals } from './signals.js';

describe('Signals', () => {
  let run: Run;
  let told: string[];
  let signals: Signals;

  beforeEach(() => {
    const { lane } = recordingLane();
    run = new Run(heldDelivery(lane, { id: 'a' }), { kind: 'run', fence: 1, attempt: 2, due: 0 }, 0);
    told = [];
    signals = new Signals('tube', {
      leaseLost: (...what: unknown[]) => told.push(`lease lost ${what.join(' ')}`),
      revoked: (...what: unknown[]) => told.push(`revoked ${what.join(' ')}`),
    } as unknown as ConsumerReport);
  });

  const code = () => (run.abort.signal.reason as DqError).code;

  it('raises the signal of a run that lost its lease, once', () => {
    signals.loseLease(run);
    signals.loseLease(run);
    expect([code(), run.lost]).toEqual(['DQ_LEASE_LOST', true]);
    expect(told).toEqual(['lease lost tube a 2']);
  });

  it('raises the signal of a run that was revoked, once', () => {
    signals.revoke(run);
    signals.revoke(run);
    expect([code(), run.revoked]).toEqual(['DQ_REVOKED', true]);
    expect(told).toEqual(['revoked tube a 2']);
  });

  it('tells of a lost lease where the signal was raised for another reason, which stands', () => {
    signals.revoke(run);
    signals.loseLease(run);
    expect([code(), run.lost]).toEqual(['DQ_REVOKED', true]);
    expect(told).toEqual(['revoked tube a 2', 'lease lost tube a 2']);
  });
});
