import type { OrderStatus } from '../orders/order.js';

/** One order, as the sales know it. */
export interface Sale {
  readonly product: string;
  readonly quantity: number;
  /** Price of one piece. */
  readonly price: number;
  readonly status: OrderStatus;
}

/** Figures of one product: orders by their status, and the turnover of the paid ones. */
export type Figures = Readonly<Record<OrderStatus | 'turnover', number>>;
