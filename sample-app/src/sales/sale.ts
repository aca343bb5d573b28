import type { OrderStatus } from '../orders/order.js';

/** What the sales know of one order. */
export interface Sale {
  readonly product: string;
  readonly quantity: number;
  /** Of one piece. */
  readonly price: number;
  readonly status: OrderStatus;
}

/** Of one product: orders by their status, and what those that are paid brought in. */
export type Figures = Readonly<Record<OrderStatus | 'turnover', number>>;
