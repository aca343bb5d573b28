import { defineTopic } from 'nest-kq';
import type { Order } from './order.js';

/** The topic of all changes: each message is an order as it is after the change, with the order's id as its key. */
export const OrderChanged = defineTopic<Order>('orders');
