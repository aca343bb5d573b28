import { ConflictException, Injectable, NotFoundException } from '@nestjs/common';

/** What is on the shelf. */
@Injectable()
export class Stock {
  private readonly pieces = new Map([
    ['tea', 100],
    ['mug', 20],
    ['kettle', 3],
  ]);

  list(): Record<string, number> {
    return Object.fromEntries(this.pieces);
  }

  take(product: string, quantity: number): void {
    const left = this.pieces.get(product);
    if (left === undefined) {
      throw new NotFoundException(`there is no ${product}; there are ${[...this.pieces.keys()].join(', ')}`);
    }
    if (left < quantity) throw new ConflictException(`${quantity} ${product} wanted, ${left} left`);
    this.pieces.set(product, left - quantity);
  }

  giveBack(product: string, quantity: number): void {
    this.pieces.set(product, (this.pieces.get(product) ?? 0) + quantity);
  }
}
