// Code that must compile and code that must not, checked by `tsc` alone: a line below `@ts-expect-error` that compiles is an error itself.
import { defineTube, type AsJson, type PayloadOf } from 'nest-dq';

export type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
export const holds = <_T extends true>() => undefined;

export interface Order {
  id: string;
  count: number;
}
export const OrderCancel = defineTube<Order>('order.cancel');
export const Reminder = defineTube<{ at: Date; note?: string }>('reminder');
export const Upload = defineTube<Uint8Array>('upload');
export const Untyped = defineTube('untyped');
export class Dto {
  constructor(readonly at: Date) {}
  later(): Date {
    return this.at;
  }
}
export const Instance = defineTube<Dto, Dto>('instance');

// ── tubes ──

holds<Equal<PayloadOf<typeof OrderCancel>, Order>>();
holds<Equal<PayloadOf<typeof Reminder>, { at: string; note?: string }>>();
holds<Equal<PayloadOf<typeof Upload>, Buffer>>();
holds<Equal<PayloadOf<typeof Untyped>, unknown>>();
holds<Equal<PayloadOf<typeof Instance>, Dto>>();
holds<Equal<AsJson<{ when: Date; run(): void; list: Date[] }>, { when: string; list: string[] }>>();
holds<Equal<AsJson<[Date, number]>, [string, number]>>();
holds<Equal<AsJson<{ nested: { map: Map<string, number> } }>, { nested: { map: {} } }>>();
holds<Equal<AsJson<any>, any>>();
