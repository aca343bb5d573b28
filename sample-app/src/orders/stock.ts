import { ConflictException, Injectable, NotFoundException } from '@nestjs/common';
import { Rows } from '../common/rows.js';
import { Settings } from '../settings.js';

interface Shelf {
  readonly product: string;
  readonly pieces: number;
}

const AT_FIRST: readonly Shelf[] = [
  { product: 'tea', pieces: 100 },
  { product: 'mug', pieces: 20 },
  { product: 'kettle', pieces: 3 },
];

/** What is on the shelf. */
@Injectable()
export class Stock {
  private readonly rows: Rows<Shelf>;

  constructor({ folder }: Settings) {
    this.rows = new Rows(folder, 'stock');
    if (this.rows.list().length === 0) for (const shelf of AT_FIRST) this.rows.set(shelf.product, shelf);
  }

  list(): Record<string, number> {
    return Object.fromEntries(this.rows.list().map(({ product, pieces }) => [product, pieces]));
  }

  take(product: string, quantity: number): void {
    const left = this.rows.get(product)?.pieces;
    if (left === undefined) {
      throw new NotFoundException(`there is no ${product}; there are ${Object.keys(this.list()).join(', ')}`);
    }
    if (left < quantity) throw new ConflictException(`${quantity} ${product} wanted, ${left} left`);
    this.rows.set(product, { product, pieces: left - quantity });
  }

  giveBack(product: string, quantity: number): void {
    const pieces = (this.rows.get(product)?.pieces ?? 0) + quantity;
    this.rows.set(product, { product, pieces });
  }
}
