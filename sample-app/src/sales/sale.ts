import type { OrderStatus } from '../orders/order.js';

/** What the sales know of one order. */
export interface Sale {
  readonly product: string;
  readonly quantity: number;
  /** Of one piece. */
  readonly price: number;
  readonly status: OrderStatus;
  /** When the order came to this status: milliseconds since 1970. */
  readonly since: number;
}

/** Of one product: orders by their status, and what those that are paid brought in. */
export type Figures = Readonly<Record<OrderStatus | 'turnover', number>>;
