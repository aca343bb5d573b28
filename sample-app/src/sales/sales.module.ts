import { Module } from '@nestjs/common';
import { PriceList } from './price-list.js';
import { SalesController } from './sales.controller.js';
import { SalesRepository } from './sales.repository.js';
import { SalesService } from './sales.service.js';

@Module({ controllers: [SalesController], providers: [SalesService, SalesRepository, PriceList] })
export class SalesModule {}
