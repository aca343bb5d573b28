import { describe, expect, it } from '@jest/globals';
import { formatIds, parseRef, type JobIds } from './job-ids.js';
import type { JobRef } from './job.js';

const IDS: JobIds = {
  tube: 'order.cancel',
  id: '01J00000000000000000000000',
  born: 0,
  due: Date.UTC(2030, 0, 1),
  copies: 3,
  places: [
    { index: 1, location: '10.0.0.1:11300#0123456789abcdef:17' },
    { index: 2, location: '[::1]:11300#0123456789abcdef:?' },
    { index: 0, location: '10.0.0.3:11300#fedcba9876543210:18446744073709551615' },
  ],
};

const wire = (value: unknown): string =>
  `dq1.${Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')}`;

describe('formatIds and parseRef', () => {
  it('find the same again', () => {
    expect(parseRef(formatIds(IDS))).toEqual(IDS);
    expect(parseRef(formatIds({ ...IDS, places: [], copies: 1 }))).toEqual({ ...IDS, places: [], copies: 1 });
  });

  it('write a text that fits a URL and a header as it is', () => {
    const text = formatIds({ ...IDS, places: [{ index: 30, location: 'knoten-ä.example:1#x:?' }] });
    expect(text).toMatch(/^dq1\.[A-Za-z0-9_-]+$/);
    expect(encodeURIComponent(text)).toBe(text);
    expect(parseRef(text).places[0]!.location).toBe('knoten-ä.example:1#x:?');
  });

  it('take a receipt, and a receipt after JSON', () => {
    const receipt = { id: IDS.id, ids: formatIds(IDS), tube: IDS.tube, dueAt: new Date(IDS.due), copies: 3 };
    expect(parseRef(receipt)).toEqual(IDS);
    expect(parseRef(JSON.parse(JSON.stringify(receipt)) as JobRef)).toEqual(IDS);
  });
});

describe('parseRef', () => {
  const good: unknown[] = ['t', 'id', 0, 5, 1, [[0, 'a#b:1']]];
  it('takes what the refusals below are made from', () => {
    expect(parseRef(wire(good)).places).toEqual([{ index: 0, location: 'a#b:1' }]);
  });

  it.each<[unknown, string]>([
    ['', '""'],
    ['garbage', '"garbage"'],
    [IDS.id, IDS.id],
    ['dq1.', '"dq1."'],
    ['dq1.%%%', '"dq1.%%%"'],
    [formatIds(IDS).replace('dq1.', 'dq2.'), '"dq2.'],
    [formatIds(IDS).slice(0, 60), '"dq1.'],
    [wire('null'), '"dq1.'],
    [wire({ tube: 't' }), '"dq1.'],
    [wire([]), '"dq1.'],
    [wire(good.with(0, 7)), '"dq1.'],
    [wire(good.with(1, null)), '"dq1.'],
    [wire(good.with(1, ':dead')), '"dq1.'],
    [wire(good.with(2, -1)), '"dq1.'],
    [wire(good.with(3, 1.5)), '"dq1.'],
    [wire(good.with(3, '5')), '"dq1.'],
    [wire(good.with(4, 32)), '"dq1.'],
    [wire(good.with(5, {})), '"dq1.'],
    [wire(good.with(5, [5])), '"dq1.'],
    [wire(good.with(5, [[0]])), '"dq1.'],
    [wire(good.with(5, [[0.5, 'a#b:1']])), '"dq1.'],
    [wire(good.with(5, [[-1, 'a#b:1']])), '"dq1.'],
    [wire(good.with(5, [[31, 'a#b:1']])), '"dq1.'],
    [undefined, 'undefined'],
    [null, 'null'],
    [42, '42'],
    [{}, '{}'],
    [{ ids: 5 }, '{"ids":5}'],
    [{ ids: 'x' }, '{"ids":"x"}'],
  ])('refuses %p, and shows it', (ref, shown) => {
    const parse = () => parseRef(ref as JobRef);
    expect(parse).toThrow(expect.objectContaining({ code: 'DQ_BAD_REF' }));
    expect(parse).toThrow(shown);
    expect(parse).toThrow('expected a receipt');
  });

  it('says that keys are not there yet', () => {
    expect(() => parseRef({ tube: 't', key: 'order:42' } as unknown as JobRef)).toThrow(
      /"order:42".*keys are not available/,
    );
  });
});
