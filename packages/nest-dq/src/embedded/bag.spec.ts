import { describe, expect, it } from '@jest/globals';
import { Bag } from './bag.js';

describe('Bag', () => {
  it('keeps items in the order in which they came, each once', () => {
    const bag = new Bag<string>();
    for (const item of ['a', 'b', 'a', 'c', 'b']) bag.add(item);
    expect(bag.items).toEqual(['a', 'b', 'c']);
  });

  it('puts the last in the place of one that leaves', () => {
    const bag = new Bag<string>();
    for (const item of ['a', 'b', 'c', 'd']) bag.add(item);
    bag.delete('b');
    expect(bag.items).toEqual(['a', 'd', 'c']);
    bag.delete('d');
    expect(bag.items).toEqual(['a', 'c']);
    bag.delete('c');
    bag.delete('b');
    expect(bag.items).toEqual(['a']);
    expect(['a', 'b', 'c', 'd'].filter((item) => bag.has(item))).toEqual(['a']);
    bag.add('b');
    expect(bag.items).toEqual(['a', 'b']);
  });
});
