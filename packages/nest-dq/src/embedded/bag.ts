/** Distinct items in beanstalkd's order: a new one comes last, and where one leaves, the last takes its place. */
export class Bag<T> {
  readonly items: readonly T[];
  private readonly list: T[] = [];
  private readonly places = new Map<T, number>();

  constructor() {
    this.items = this.list;
  }

  has(item: T): boolean {
    return this.places.has(item);
  }

  add(item: T): void {
    if (this.places.has(item)) return;
    this.places.set(item, this.list.length);
    this.list.push(item);
  }

  delete(item: T): void {
    const place = this.places.get(item);
    if (place === undefined) return;
    this.places.delete(item);
    const last = this.list.pop()!;
    if (last === item) return;
    this.list[place] = last;
    this.places.set(last, place);
  }
}
