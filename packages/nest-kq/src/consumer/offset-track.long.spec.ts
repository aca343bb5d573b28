import { describe, expect, it } from '@jest/globals';
import { OffsetTrack } from './offset-track.js';

function trackOf(...offsets: readonly bigint[]): OffsetTrack {
  const track = new OffsetTrack();
  for (const offset of offsets) track.seen(offset, Number(offset) * 10);
  return track;
}

describe('OffsetTrack', () => {
  it('has no watermark before anything was seen', () => {
    expect(new OffsetTrack().watermark).toBeUndefined();
  });

  it('stays at the first that is not handled, however many follow it', () => {
    const track = trackOf(5n, 6n, 7n, 9n);
    track.handled(9n);
    track.handled(6n);
    expect(track.watermark).toBe(5n);
    expect(track.oldest).toBe(50);
    track.handled(5n);
    expect(track.watermark).toBe(7n);
    expect(track.oldest).toBe(70);
    expect(track.size).toBe(2);
    track.handled(7n);
    expect(track.watermark).toBe(10n);
    expect(track.oldest).toBeUndefined();
    expect(track.size).toBe(0);
  });

  it('goes over a gap at the end of a batch once all before it is handled', () => {
    const track = trackOf(1n);
    track.skipTo(4n);
    expect(track.watermark).toBe(1n);
    track.handled(1n);
    expect(track.watermark).toBe(4n);
    expect(track.knows(3n)).toBe(true);
    expect(track.knows(4n)).toBe(false);
  });

  it('agrees with the plain definition over many random orders', () => {
    for (let seed = 1; seed <= 10; seed++) {
      let state = seed;
      const random = (below: number) => (state = (state * 48271) % 2147483647) % below;
      const offsets: bigint[] = [];
      for (let at = 0n; offsets.length < 3000; at += BigInt(1 + (random(5) === 0 ? 1 : 0))) offsets.push(at);
      const track = trackOf(...offsets);
      const left = new Set(offsets);
      while (left.size > 0) {
        // Some of the first ones that are left, as with bounded concurrency.
        const near = [...left].slice(0, 20);
        const offset = near[random(near.length)]!;
        left.delete(offset);
        track.handled(offset);
        const [first = track.next] = left;
        expect(track.oldest).toBe(left.size > 0 ? Number(first) * 10 : undefined);
        if (track.watermark !== first) throw new Error(`seed ${seed}: ${track.watermark}, expected ${first}`);
      }
      expect(track.size).toBe(0);
    }
  });
});
