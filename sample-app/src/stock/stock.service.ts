import { ConflictException, Inject, Injectable, NotFoundException } from '@nestjs/common';
import { JsonTable } from '../common/json-table.js';
import { settings, type Settings } from '../settings.js';

interface Shelf {
  readonly product: string;
  readonly pieces: number;
}

const AT_FIRST = { tea: 100, mug: 20, kettle: 3 };

/** The pieces on the shelf. */
@Injectable()
export class StockService {
  private readonly shelves: JsonTable<Shelf>;

  constructor(@Inject(settings.KEY) { folder }: Settings) {
    this.shelves = new JsonTable(folder, 'stock');
    if (this.shelves.list().length > 0) return;
    for (const [product, pieces] of Object.entries(AT_FIRST)) this.set(product, pieces);
  }

  list(): Record<string, number> {
    return Object.fromEntries(this.shelves.list().map(({ product, pieces }) => [product, pieces]));
  }

  take(product: string, quantity: number): void {
    const left = this.shelves.find(product)?.pieces;
    if (left === undefined) {
      throw new NotFoundException(`there is no ${product}; there are ${Object.keys(this.list()).join(', ')}`);
    }
    if (left < quantity) throw new ConflictException(`${quantity} ${product} wanted, ${left} left`);
    this.set(product, left - quantity);
  }

  giveBack(product: string, quantity: number): void {
    this.set(product, (this.shelves.find(product)?.pieces ?? 0) + quantity);
  }

  private set(product: string, pieces: number): void {
    this.shelves.save(product, { product, pieces });
  }
}
