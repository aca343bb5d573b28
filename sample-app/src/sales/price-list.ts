import { Injectable } from '@nestjs/common';

const PRICES: Readonly<Record<string, number>> = { tea: 4, mug: 9, kettle: 35 };

/** Plays the service of another team: when it is first asked for the price of a kettle, it is busy. */
@Injectable()
export class PriceList {
  private readonly asked = new Set<string>();

  async priceOf(product: string): Promise<number> {
    const first = !this.asked.has(product);
    this.asked.add(product);
    if (product === 'kettle' && first) throw new Error('the price list is busy');
    return PRICES[product] ?? 0;
  }
}
