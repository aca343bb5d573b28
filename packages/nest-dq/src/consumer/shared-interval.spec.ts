import { describe, expect, it } from '@jest/globals';
import { VirtualClock } from 'nest-handlers/testing';
import { SharedInterval } from './shared-interval.js';

describe('SharedInterval', () => {
  const clock = new VirtualClock();

  it('calls all back together, first within its time, until each ends it', async () => {
    const interval = new SharedInterval(clock, 1_000);
    const calls: string[] = [];
    const endA = interval.add(() => calls.push(`a ${clock.now()}`));
    await clock.advance(400);
    const endB = interval.add(() => calls.push(`b ${clock.now()}`));
    await clock.advance(600);
    expect(calls.splice(0)).toEqual(['a 1000', 'b 1000']);
    endA();
    endA();
    await clock.advance(1_000);
    expect(calls.splice(0)).toEqual(['b 2000']);
    endB();
    await clock.advance(5_000);
    expect(calls).toEqual([]);
  });

  it('starts over for a newcomer after all have left', async () => {
    const interval = new SharedInterval(clock, 1_000);
    interval.add(() => undefined)();
    await clock.advance(300);
    const begun = clock.now();
    const calls: number[] = [];
    const end = interval.add((late) => calls.push(clock.now() - begun, late));
    await clock.advance(1_000);
    end();
    expect(calls).toEqual([1_000, 0]);
  });
});
