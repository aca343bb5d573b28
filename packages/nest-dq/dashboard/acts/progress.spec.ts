import { describe, expect, it } from '@jest/globals';
import type { BulkExampleWire, BulkProgressWire } from '../../src/dashboard/wire.js';
import { joined, pace } from './progress.js';

type Progress = BulkProgressWire<BulkExampleWire>;

const progress = (over: Partial<Progress>): Progress => ({
  done: 0,
  failed: 0,
  skipped: 0,
  failures: [],
  examples: [],
  ...over,
});

describe('joined', () => {
  it('is the progress of the only act', () => {
    const only = progress({ done: 2, cursor: 'x' });
    expect(joined(undefined, only)).toBe(only);
  });

  it('adds up two acts, and has the range of both', () => {
    const first = progress({
      done: 2,
      failed: 1,
      earliest: '2026-01-02T00:00:00Z',
      latest: '2026-01-03T00:00:00Z',
    });
    const second = progress({
      done: 3,
      skipped: 4,
      earliest: '2026-01-01T00:00:00Z',
      latest: '2026-01-02T00:00:00Z',
    });
    expect(joined(first, second)).toEqual(
      progress({ done: 5, failed: 1, skipped: 4, earliest: second.earliest!, latest: first.latest! }),
    );
    expect(joined(progress({}), second).earliest).toBe(second.earliest);
  });

  it('shows the first ten failures', () => {
    const failures = Array.from({ length: 6 }, (_, i) => ({
      id: String(i),
      code: 'DQ_NO_COPY',
      message: 'x',
    }));
    expect(joined(progress({ failures }), progress({ failures })).failures).toHaveLength(10);
  });
});

describe('pace', () => {
  it('is the rate and the time left', () => {
    expect(pace(200, 800, 2_000)).toEqual({ perSecond: 100, leftMs: 6_000 });
    expect(pace(900, 800, 9_000)).toEqual({ perSecond: 100, leftMs: 0 });
  });

  it('is unknown at the beginning', () => {
    expect(pace(0, 800, 2_000)).toBeUndefined();
    expect(pace(1, 800, 0)).toBeUndefined();
  });
});
