import { describe, expect, it } from '@jest/globals';
import { Heap, type HeapItem } from './heap.js';

class Item implements HeapItem {
  heapIndex = -1;

  constructor(
    public rank: number,
    readonly id: number,
  ) {}
}

const before = (a: Item, b: Item) => a.rank < b.rank || (a.rank === b.rank && a.id < b.id);

describe('Heap', () => {
  it('is empty at first', () => {
    expect(new Heap<Item>(before).peek()).toBeUndefined();
  });

  it('keeps its order through any additions, removals and changes', () => {
    const random = randomFrom(7);
    const heap = new Heap<Item>(before);
    const model = new Set<Item>();
    for (let id = 0; id < 3000; id++) {
      const item = new Item(random(100), id);
      heap.add(item);
      model.add(item);
      const victim = [...model][random(model.size)]!;
      if (id % 3 === 0) {
        heap.remove(victim);
        model.delete(victim);
        expect(victim.heapIndex).toBe(-1);
      } else {
        victim.rank = random(100);
        heap.update(victim);
      }
    }
    expect(heap.size).toBe(model.size);
    expect(heap.takeAll()).toEqual([...model].sort((a, b) => a.rank - b.rank || a.id - b.id));
  });

  it('does nothing when an item outside is removed', () => {
    const heap = new Heap<Item>(before);
    const [inside, outside] = [new Item(1, 1), new Item(1, 2)];
    heap.add(inside);
    heap.remove(outside);
    heap.remove(outside);
    expect(heap.takeAll()).toEqual([inside]);
  });
});

/** The same numbers in each run. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return Math.floor((state / 2 ** 31) * below);
  };
}
