import { beforeEach, describe, expect, it } from '@jest/globals';
import { VirtualClock } from '../../test-kit/virtual-clock.js';
import { Room } from './budget.js';

describe('Room', () => {
  let clock: VirtualClock;
  let room: Room;

  beforeEach(() => {
    clock = new VirtualClock();
    room = new Room(clock, 10);
  });

  it('lets as many be due and waiting as there are slots, while nothing was completed', () => {
    expect(room.window(1)).toBe(10);
    expect(room.left(10, 0, 0)).toBe(20);
  });

  it('grows by what 40 ms need, as fast as the last 100 ms were, and shrinks again as those pass', async () => {
    room.completed(5);
    await clock.advance(50);
    room.completed(10);
    expect(room.window(1)).toBe(16);
    await clock.advance(40);
    expect(room.window(1)).toBe(16);
    await clock.advance(10);
    expect(room.window(1)).toBe(14);
    await clock.advance(49);
    expect(room.window(1)).toBe(14);
    await clock.advance(1);
    expect(room.window(1)).toBe(10);
  });

  it('asks for many at once where there is enough for all slots', () => {
    room.completed(75);
    expect(room.window(0)).toBe(40);
    expect(room.left(0, 9, 0)).toBe(31);
    expect(room.left(0, 5, 15)).toBe(20);
    expect(room.left(0, 21, 0)).toBe(0);
    expect(room.left(0, 10, 11)).toBe(0);
    expect(room.left(2, 10, 11)).toBe(21);
  });

  it('forgets everything in a pause of any length', async () => {
    room.completed(5);
    await clock.advance(123_456);
    expect(room.window(1)).toBe(10);
    room.completed(1);
    expect(room.window(1)).toBe(11);
  });

  it('lets as many stay as will have a slot in a while, as fast as the last ones had theirs', async () => {
    room.completed(12);
    expect(room.within(250, 1)).toBe(10 + 30);
    expect(room.within(40, 0)).toBe(room.window(0));
    await clock.advance(1_000);
    expect(room.within(250, 0)).toBe(0);
    expect(room.within(250, 1)).toBe(10);
  });

  it('counts free slots, what waits, and reserves that are out', () => {
    expect(room.left(3, 4, 5)).toBe(10 + 3 - 4 - 5);
  });

  it('says none, and not a negative room as something, when more waits than may', () => {
    expect(room.left(0, 10, 0)).toBe(0);
    expect(room.left(0, 12, 4)).toBeLessThanOrEqual(0);
  });

  it('lets nothing wait once all slots were taken for a second and no handler ended', async () => {
    expect(room.left(1, 0, 0)).toBe(11);
    await clock.advance(999);
    expect(room.left(0, 0, 0)).toBe(10);
    await clock.advance(1);
    expect(room.left(0, 0, 0)).toBe(0);
    expect(room.window(0)).toBe(0);
  });

  it('lets jobs wait again from the moment a handler ends', async () => {
    room.window(1);
    await clock.advance(60_000);
    expect(room.window(0)).toBe(0);
    room.completed(1);
    expect(room.window(0)).toBe(11);
    await clock.advance(1_000);
    expect(room.window(0)).toBe(0);
  });
});
