import { describe, expect, it } from '@jest/globals';
import { Reading } from './reading.js';

const PLACE = { topic: 't', partition: 0 };

/** A batch as kafkajs hands it over; only its fetched offset matters. */
function fetchedAt(offset: number) {
  return {
    topic: 't',
    partition: 0,
    fetchedOffset: String(offset),
    highWatermark: '100',
    messages: [],
    isEmpty: () => false,
    firstOffset: () => String(offset),
    lastOffset: () => String(offset),
    offsetLag: () => '0',
    offsetLagLow: () => '0',
  };
}

/** It was at 50 before the rejoin. */
function rejoined(): Reading {
  const before = new Reading(PLACE, undefined);
  before.position = 50n;
  return new Reading(PLACE, before);
}

describe('Reading', () => {
  it('accepts whatever comes first in a partition that is new to it', () => {
    expect(new Reading(PLACE, undefined).accepts(fetchedAt(7))).toBe(true);
  });

  it('leaves out fetches from before the rejoin, since their messages come again', () => {
    const reading = rejoined();
    expect(reading.accepts(fetchedAt(50))).toBe(false);
    expect(reading.accepts(fetchedAt(20))).toBe(true);
    reading.position = 30n;
    expect(reading.accepts(fetchedAt(50))).toBe(false);
    expect(reading.accepts(fetchedAt(30))).toBe(true);
  });

  it('accepts it in the end where the group had committed just that', () => {
    const reading = rejoined();
    const answers = Array.from({ length: 3 }, () => reading.accepts(fetchedAt(50)));
    expect(answers).toEqual([false, false, true]);
  });

  it('accepts the offset it has reached, and the next offset of a broker that has lost messages', () => {
    const reading = rejoined();
    reading.position = 50n;
    expect(reading.accepts(fetchedAt(50))).toBe(true);
    expect(reading.accepts(fetchedAt(80))).toBe(true);
  });

  it('remembers where it was over an assignment in which nothing came', () => {
    const reading = new Reading(PLACE, rejoined());
    expect(reading.accepts(fetchedAt(50))).toBe(false);
  });
});
