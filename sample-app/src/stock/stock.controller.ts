import { Controller, Get } from '@nestjs/common';
import { StockService } from './stock.service.js';

@Controller('stock')
export class StockController {
  constructor(private readonly stock: StockService) {}

  @Get()
  list(): Record<string, number> {
    return this.stock.list();
  }
}
