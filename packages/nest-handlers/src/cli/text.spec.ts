import { describe, expect, it } from '@jest/globals';
import { column, linesOf, shortened, shortenedAll, styled, table, wrapped, type Page } from './text.js';

const HOSTILE = '1.12\x1b[2J\nROOT';
const on = (width: number): Page => ({ width, paint: (style, text) => `<${style}>${text}</>` });

describe('the lines a command prints', () => {
  it('are a table with numbers at the right', () => {
    const rows = [
      ['a', 1, 'x'],
      ['long name', 12_345, ''],
    ];
    expect(linesOf([table(['NAME', 'N', 'WORD'], rows)])).toEqual([
      'NAME            N  WORD',
      'a               1  x',
      'long name  12,345',
    ]);
  });

  it('have no terminal control characters, and no line of others, whatever a server says', () => {
    const safe = '1.12\\u001b[2J\\u000aROOT';
    expect(linesOf(HOSTILE)).toEqual([safe]);
    expect(linesOf([HOSTILE, styled('red', HOSTILE), ['a ', styled('red', HOSTILE)]])).toEqual([
      safe,
      safe,
      `a ${safe}`,
    ]);
    expect(linesOf([table(['VERSION'], [[HOSTILE], [styled('red', HOSTILE)]])])).toEqual([
      'VERSION',
      safe,
      safe,
    ]);
    expect(linesOf(() => [HOSTILE])).toEqual([safe]);
  });

  it('have styles where the page takes them, which need no room', () => {
    const rows = [
      [styled('red', 'NONE'), 0, 'x'],
      ['yes', styled('yellow', 12), 'y'],
    ];
    expect(linesOf([table(['CONSUMERS', 'DEAD', 'Z'], rows)], on(80))).toEqual([
      '<bold>CONSUMERS</>  <bold>DEAD</>  <bold>Z</>',
      '<red>NONE</>          <dim>0</>  x',
      'yes          <yellow>12</>  y',
    ]);
  });

  it('fit the width: the longest texts are shortened in the middle, numbers never', () => {
    const long = `tenant.${'x'.repeat(170)}.mail`;
    const rows = [
      [long, 1_234_567, 'connect ETIMEDOUT'],
      ['order.cancel', 0, ''],
    ];
    const lines = linesOf([table(['TUBE', 'WAITING', 'ERROR'], rows)], {
      ...on(50),
      paint: (_, text) => text,
    });
    expect(lines).toEqual([
      'TUBE                    WAITING  ERROR',
      'tenant.xxx…xxxx.mail  1,234,567  connect ETIMEDOUT',
      'order.cancel                  0',
    ]);
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(50);
    expect(linesOf([table(['TUBE', 'WAITING', 'ERROR'], rows)])[1]).toContain(long);
  });

  it('leave out the last columns where not even short texts fit', () => {
    const lines = linesOf([table(['TUBE', 'WAITING', 'LIMITS'], [['a', 1, '3 of 5 running']])], {
      width: 14,
      paint: (_, text) => text,
    });
    expect(lines).toEqual(['TUBE  WAITING', 'a           1', 'LIMITS left out']);
  });

  it('leave out optional columns before names become illegible, and give their room back', () => {
    const rows = [['tenant.acme.orders.cancelled.after.a.while', 1, '3 of 5 running', 'yes']];
    const head = ['TUBE', 'WAITING', column('optional', 'LIMITS'), 'CONSUMERS'];
    const page: Page = { ...plain(44), wideFlag: '--wide' };
    expect(linesOf([table(head, rows)], page)).toEqual([
      'TUBE                      WAITING  CONSUMERS',
      'tenant.acme.…ter.a.while        1  yes',
      'LIMITS left out; --wide shows it',
    ]);
  });

  it('have times that are never cut, only shorter, and whole again where there is room', () => {
    const time = { text: '2026-11-23T14:01:19Z (1 s ago)', shorter: ['14:01:19Z (1 s ago)', '1 s ago'] };
    const shown = (width: number) =>
      linesOf([table([column('time', 'WHEN'), 'WHO'], [[time, 'ann@laptop']])], plain(width))[1];
    expect([42, 41, 31, 30, 10].map(shown)).toEqual([
      '2026-11-23T14:01:19Z (1 s ago)  ann@laptop',
      '14:01:19Z (1 s ago)  ann@laptop',
      '14:01:19Z (1 s ago)  ann@laptop',
      '1 s ago  ann@laptop',
      '1 s ago',
    ]);
  });

  it('have a reason below its row if there is no room for it, never cut', () => {
    const rows = [
      ['order-1', 1, styled('red', 'TypeError: cannot read properties of undefined (reading tea)')],
      ['order-2', 2, 'timeout'],
    ];
    const head = ['KEY', 'RUNS', column('reason', 'ERROR')];
    expect(linesOf([table(head, rows)], plain(40))).toEqual([
      'KEY      RUNS  ERROR',
      'order-1     1',
      '    TypeError: cannot read properties of',
      '    undefined (reading tea)',
      'order-2     2  timeout',
    ]);
    expect(linesOf([table(head, rows)])[1]).toMatch(/^order-1 {5}1 {2}TypeError: .* \(reading tea\)$/);
  });
});

function plain(width: number): Page {
  return { width, paint: (_, text) => text };
}

it('texts that would look the same are shown from where they differ', () => {
  const names = ['tenant.acme.eu.orders.cancel', 'tenant.acme.us.orders.cancel', 'mail'];
  expect(shortenedAll(names, 15)).toEqual(['…e.eu.orders.c…', '…e.us.orders.c…', 'mail']);
  expect(shortenedAll(names.slice(0, 1), 15)).toEqual(['tenant.….cancel']);
});

it('a text is shortened in the middle', () => {
  expect(shortened('order.cancel', 12)).toBe('order.cancel');
  expect(shortened('order.cancel', 8)).toBe('orde…cel');
  expect(shortened('order.cancel', 2)).toBe('o…');
});

it('a text is broken between words', () => {
  expect(wrapped('start it, or check its address', 12)).toEqual(['start it, or', 'check its', 'address']);
  expect(wrapped('one two', Infinity)).toEqual(['one two']);
});
