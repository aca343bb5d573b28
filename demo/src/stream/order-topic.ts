import { defineTopic } from 'nest-kq';
import type { OrderRef } from './stream-tally.js';

/** The key is the customer. */
export const Orders = defineTopic<OrderRef>('orders');
