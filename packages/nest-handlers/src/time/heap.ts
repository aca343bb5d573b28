/** An item of a heap; in at most one heap at a time. */
export interface HeapItem {
  /** Maintained by the heap that holds the item; -1 outside. */
  heapIndex: number;
}

/** A binary heap whose items know their index, so that any of them is removed in O(log n). */
export class Heap<T extends HeapItem> {
  private readonly items: T[] = [];

  constructor(private readonly before: (a: T, b: T) => boolean) {}

  /** Number of items. */
  get size(): number {
    return this.items.length;
  }

  /** Returns the first item. */
  peek(): T | undefined {
    return this.items[0];
  }

  /** Iterates over the items, in no particular order. */
  [Symbol.iterator](): Iterator<T> {
    return this.items.values();
  }

  /** Adds an item that is in no heap. */
  add(item: T): void {
    this.items.push(item);
    this.rise(item, this.items.length - 1);
  }

  /** Whether the item is in this heap. */
  has(item: T): boolean {
    return this.items[item.heapIndex] === item;
  }

  /** Removes an item; no-op if it isn't in this heap. */
  remove(item: T): void {
    if (!this.has(item)) return;
    const index = item.heapIndex;
    item.heapIndex = -1;
    const last = this.items.pop()!;
    if (last !== item) this.settle(last, index);
  }

  /** Empties the heap and returns the items in order. */
  takeAll(): T[] {
    const all: T[] = [];
    for (let next = this.peek(); next; next = this.peek()) {
      this.remove(next);
      all.push(next);
    }
    return all;
  }

  /** Call after changing what orders the item. */
  update(item: T): void {
    this.settle(item, item.heapIndex);
  }

  private settle(item: T, index: number): void {
    const parent = this.items[(index - 1) >> 1];
    if (index > 0 && this.before(item, parent!)) this.rise(item, index);
    else this.sink(item, index);
  }

  private rise(item: T, index: number): void {
    while (index > 0) {
      const above = (index - 1) >> 1;
      const parent = this.items[above]!;
      if (!this.before(item, parent)) break;
      this.place(parent, index);
      index = above;
    }
    this.place(item, index);
  }

  private sink(item: T, index: number): void {
    const { items } = this;
    for (let below = 2 * index + 1; below < items.length; below = 2 * index + 1) {
      if (below + 1 < items.length && this.before(items[below + 1]!, items[below]!)) below++;
      const child = items[below]!;
      if (!this.before(child, item)) break;
      this.place(child, index);
      index = below;
    }
    this.place(item, index);
  }

  private place(item: T, index: number): void {
    this.items[index] = item;
    item.heapIndex = index;
  }
}
