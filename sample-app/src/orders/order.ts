export type OrderStatus = 'placed' | 'paid' | 'cancelled';

export interface Order {
  readonly id: string;
  readonly product: string;
  readonly quantity: number;
  readonly status: OrderStatus;
  /** An ISO date. */
  readonly payBy: string;
}
