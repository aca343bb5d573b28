import { Inject, Injectable } from '@nestjs/common';
import { JsonTable } from '../common/json-table.js';
import { settings, type Settings } from '../settings.js';
import type { Sale } from './sale.js';

/** By the order's id. */
@Injectable()
export class SalesRepository extends JsonTable<Sale> {
  constructor(@Inject(settings.KEY) { folder }: Settings) {
    super(folder, 'sales');
  }
}
