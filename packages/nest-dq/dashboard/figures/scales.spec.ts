import { describe, expect, it } from '@jest/globals';
import {
  barAt,
  capacityLine,
  clockChanges,
  placeOf,
  spanOf,
  timeMarks,
  valueMarks,
  type OffsetAt,
} from './scales.js';

const at = (text: string) => Date.parse(text);
const iso = (times: readonly number[]) => times.map((each) => new Date(each).toISOString().slice(0, 16));
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** UTC offsets of a zone, from the platform's time zone data. */
function zone(timeZone: string): OffsetAt {
  const format = new Intl.DateTimeFormat('en', {
    timeZone,
    hourCycle: 'h23',
    ...({ year: 'numeric', month: 'numeric', day: 'numeric' } as const),
    ...({ hour: 'numeric', minute: 'numeric', second: 'numeric' } as const),
  });
  return (time) => {
    const parts = format.formatToParts(time).map(({ type, value }) => [type, Number(value)] as const);
    const { year, month, day, hour, minute, second } = Object.fromEntries(parts);
    const shown = Date.UTC(year!, month! - 1, day, hour, minute, second);
    return Math.floor(time / SECOND) * SECOND - shown;
  };
}

const UTC: OffsetAt = () => 0;
const INDIA = zone('Asia/Kolkata');
const BERLIN = zone('Europe/Berlin');
const SANTIAGO = zone('America/Santiago');

describe('spanOf', () => {
  it('shows an hour in whole minutes, which cover it', () => {
    const from = at('2026-03-01T10:20:30Z');
    const { edges, ...span } = spanOf(from, from + HOUR, 62, UTC);
    expect(span).toEqual({
      from: at('2026-03-01T10:20:00Z'),
      to: at('2026-03-01T11:21:00Z'),
      step: MINUTE,
      bars: 61,
    });
    expect(edges).toEqual(Array.from({ length: 62 }, (_, i) => span.from + i * MINUTE));
  });

  it('shows a month in days of the viewer', () => {
    const from = at('2026-03-01T10:20:30Z');
    expect(spanOf(from, from + 30 * DAY, 32, INDIA)).toMatchObject({
      from: at('2026-02-28T18:30:00Z'),
      to: at('2026-03-31T18:30:00Z'),
      step: DAY,
      bars: 31,
    });
  });

  it('has a day of 25 hours and one of 23 where clocks are changed', () => {
    const autumn = spanOf(at('2026-10-24T10:00:00Z'), at('2026-10-27T10:00:00Z'), 5, BERLIN);
    expect(iso(autumn.edges)).toEqual([
      '2026-10-23T22:00',
      '2026-10-24T22:00',
      '2026-10-25T23:00',
      '2026-10-26T23:00',
      '2026-10-27T23:00',
    ]);
    const spring = spanOf(at('2026-03-28T10:00:00Z'), at('2026-03-29T23:00:00Z'), 3, BERLIN);
    expect(iso(spring.edges)).toEqual([
      '2026-03-27T23:00',
      '2026-03-28T23:00',
      '2026-03-29T22:00',
      '2026-03-30T22:00',
    ]);
  });

  it('keeps six hours on the clock, and shows the hour that comes twice as two', () => {
    const day = spanOf(at('2026-10-24T22:00:00Z'), at('2026-10-25T23:00:00Z'), 5, BERLIN);
    expect(iso(day.edges)).toEqual([
      '2026-10-24T22:00',
      '2026-10-25T05:00',
      '2026-10-25T11:00',
      '2026-10-25T17:00',
      '2026-10-25T23:00',
    ]);
    const night = spanOf(at('2026-10-24T23:10:00Z'), at('2026-10-25T02:00:00Z'), 4, BERLIN);
    expect(iso(night.edges)).toEqual([
      '2026-10-24T23:00',
      '2026-10-25T00:00',
      '2026-10-25T01:00',
      '2026-10-25T02:00',
    ]);
  });

  it('begins a day at one where clocks leave midnight out', () => {
    const { edges } = spanOf(at('2026-09-05T12:00:00Z'), at('2026-09-07T12:00:00Z'), 4, SANTIAGO);
    expect(iso(edges)).toEqual([
      '2026-09-05T04:00',
      '2026-09-06T04:00',
      '2026-09-07T03:00',
      '2026-09-08T03:00',
    ]);
  });

  it('covers each span with no more bars than asked for, none of them outside', () => {
    const from = at('2026-12-31T23:59:59Z') + 123;
    for (const offsetAt of [UTC, INDIA, BERLIN, SANTIAGO])
      for (const most of [2, 7, 62, 200])
        for (let length = 1; length < 4_000 * DAY; length = length * 3 + 1) {
          const { edges, ...span } = spanOf(from, from + length, most, offsetAt);
          expect(span.bars).toBeLessThanOrEqual(most);
          expect([edges.length, edges[0], edges.at(-1)]).toEqual([span.bars + 1, span.from, span.to]);
          expect(edges[0]).toBeLessThanOrEqual(from);
          expect(edges[1]).toBeGreaterThan(from);
          expect(edges.at(-1)).toBeGreaterThanOrEqual(from + length);
          expect(edges.at(-2)).toBeLessThan(from + length);
          expect(edges.toSorted((a, b) => a - b)).toEqual(edges);
        }
  });
});

describe('barAt', () => {
  it('is the bar in which a time lies', () => {
    const span = spanOf(at('2026-10-24T10:00:00Z'), at('2026-10-27T10:00:00Z'), 5, BERLIN);
    const { from, to } = span;
    expect(
      [from - 1, from, at('2026-10-25T22:59:59Z'), at('2026-10-25T23:00:00Z'), to - 1, to].map((time) =>
        barAt(span, time),
      ),
    ).toEqual([-1, 0, 1, 2, 3, -1]);
  });
});

describe('timeMarks', () => {
  const marked = (from: string, to: string, most: number, offsetAt: OffsetAt) => {
    const span = spanOf(at(from), at(to), 62, offsetAt);
    const { bars, every } = timeMarks(span, most, offsetAt);
    return { every, times: iso(bars.map((bar) => span.edges[bar]!)) };
  };

  it('marks round times in the viewer’s zone', () => {
    const quarters = marked('2026-03-01T10:20:00Z', '2026-03-01T11:20:00Z', 5, UTC);
    expect(quarters.every).toBe(15 * MINUTE);
    expect(quarters.times.map((time) => time.slice(11))).toEqual(['10:30', '10:45', '11:00', '11:15']);
  });

  it('marks round times before and after clocks change', () => {
    const { times } = marked('2026-10-24T16:00:00Z', '2026-10-25T16:00:00Z', 5, BERLIN);
    expect(times).toEqual(['2026-10-24T16:00', '2026-10-24T22:00', '2026-10-25T05:00', '2026-10-25T11:00']);
  });

  it('returns no more ticks than asked for, even for spans longer than any known step', () => {
    const from = at('2026-03-01T10:20:00Z');
    for (let length = 1_000; length < 4_000 * DAY; length = length * 3 + 1)
      for (const most of [2, 5, 20])
        expect(
          timeMarks(spanOf(from, from + length, 62, BERLIN), most, BERLIN).bars.length,
        ).toBeLessThanOrEqual(most + 1);
  });
});

describe('valueMarks', () => {
  it('counts in round steps, up to the first that reaches the highest value', () => {
    expect(valueMarks(780, 4)).toEqual([0, 200, 400, 600, 800]);
    expect(valueMarks(1, 4)).toEqual([0, 1]);
    expect(valueMarks(0, 4)).toEqual([0, 1]);
    expect(valueMarks(182_340, 4)).toEqual([0, 50_000, 100_000, 150_000, 200_000]);
  });
});

describe('placeOf', () => {
  it('is where a time is among bars of any length, within the span', () => {
    const span = { from: 0, to: 300, bars: 2, step: 100, edges: [0, 100, 300] };
    expect([-5, 0, 50, 100, 200, 300, 400].map((time) => placeOf(span, time))).toEqual([
      0, 0, 0.5, 1, 1.5, 2, 2,
    ]);
  });
});

describe('capacityLine', () => {
  it('is what can be run in each bar', () => {
    expect(capacityLine({ edges: [0, MINUTE, 3 * MINUTE] }, 10)).toEqual([10, 20]);
  });
});

describe('clockChanges', () => {
  it.each<[string, OffsetAt, string, string, { at: string; forward: number }[]]>([
    ['spring in Berlin', BERLIN, '2026-03-01', '2026-04-01', [{ at: '2026-03-29T01:00', forward: HOUR }]],
    ['autumn in Berlin', BERLIN, '2026-10-24', '2026-10-26', [{ at: '2026-10-25T01:00', forward: -HOUR }]],
    ['a month without a change', BERLIN, '2026-05-01', '2026-06-01', []],
    ['UTC', UTC, '2026-03-01', '2026-04-01', []],
  ])('are those of %s', (_what, offsetAt, from, to, changes) => {
    const span = spanOf(at(from), at(to), 32, offsetAt);
    const found = clockChanges(span, offsetAt);
    expect(found.map(({ at: time, forward }) => ({ at: iso([time])[0], forward }))).toEqual(changes);
  });
});
