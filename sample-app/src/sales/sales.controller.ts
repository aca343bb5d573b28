import { Controller, Get } from '@nestjs/common';
import type { Figures } from './sale.js';
import { SalesService } from './sales.service.js';

@Controller('sales')
export class SalesController {
  constructor(private readonly sales: SalesService) {}

  @Get()
  list(): Record<string, Figures> {
    return this.sales.figures();
  }
}
