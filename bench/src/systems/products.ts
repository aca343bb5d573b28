import { bullMq } from './bullmq.js';
import { nestDq } from './nest-dq.js';
import type { Product } from './system.js';

export const PRODUCTS: Readonly<Record<Product['name'], Product>> = { 'nest-dq': nestDq, BullMQ: bullMq };
