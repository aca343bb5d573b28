import { describe, expect, it } from '@jest/globals';
import { isPaletteKey, KeyReader, type Press } from './keys.js';

const press = (key: string, held: Partial<Press> = {}): Press => ({
  key,
  ctrlKey: false,
  metaKey: false,
  altKey: false,
  ...held,
});
const reader = () => new KeyReader({ d: 'dead', r: 'running' });

describe('shortcuts', () => {
  it('are single keys, in either case', () => {
    expect(['/', '?', 'j', 'K', 'x', 'r', 'y'].map((key) => reader().read(press(key), 0))).toEqual([
      'search',
      'help',
      'next',
      'previous',
      'select',
      'refresh',
      undefined,
    ]);
  });

  it('lead to a page by g and its key, within a second and a half', () => {
    const keys = reader();
    expect([keys.read(press('g'), 0), keys.read(press('r'), 1_500)]).toEqual([
      undefined,
      { page: 'running' },
    ]);
    expect([keys.read(press('g'), 0), keys.read(press('r'), 1_501)]).toEqual([undefined, 'refresh']);
    expect([keys.read(press('g'), 0), keys.read(press('j'), 1)]).toEqual([undefined, undefined]);
    expect(keys.read(press('j'), 2)).toBe('next');
  });

  it('are none with a key of the browser held', () => {
    expect(reader().read(press('r', { ctrlKey: true }), 0)).toBeUndefined();
    expect(reader().read(press('/', { metaKey: true }), 0)).toBeUndefined();
  });

  it('open the palette by ⌘K and Ctrl+K', () => {
    expect(isPaletteKey(press('k', { metaKey: true }))).toBe(true);
    expect(isPaletteKey(press('K', { ctrlKey: true }))).toBe(true);
    expect(isPaletteKey(press('k'))).toBe(false);
    expect(isPaletteKey(press('k', { ctrlKey: true, altKey: true }))).toBe(false);
  });
});
