// Code that must compile and code that must not, checked by `tsc` alone: a line below `@ts-expect-error` that compiles is an error itself.
import { defineTube, type AsJson, type PayloadCodec, type PayloadOf } from 'nest-dq';
import type { DqProducer, DqSeries } from 'nest-dq';
import type { DqDeadLetters } from 'nest-dq/operate';
import type { DqTestKit } from 'nest-dq/testing';
import superjson from 'superjson';
import { z } from 'zod';

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

// ── codecs ──

interface Visit {
  at: Date;
  seen: Map<string, bigint>;
}
const codec: PayloadCodec = { name: 'superjson', encode: superjson.stringify, decode: superjson.parse };
const Visits = defineTube<Visit>('visit', { codec });
const Next = defineTube<Visit>('visit', { codec, alsoReads: [{ ...codec, name: 'v1' }] });
const First = defineTube<{ at: Date }>('visit', { alsoReads: [codec] });
const Checked = defineTube('checked', { schema: z.object({ at: z.date() }), codec });
const Coerced = defineTube('coerced', {
  schema: z.object({ at: z.coerce.date<Date>() }),
  alsoReads: [codec],
});
holds<Equal<PayloadOf<typeof Visits>, Visit>>();
holds<Equal<PayloadOf<typeof Next>, Visit>>();
holds<Equal<PayloadOf<typeof First>, { at: Date } | { at: string }>>();
holds<Equal<PayloadOf<typeof Checked>, { at: Date }>>();
holds<Equal<PayloadOf<typeof Coerced>, { at: Date }>>();

export async function withCodecs(
  dq: DqProducer,
  letters: DqDeadLetters,
  kit: DqTestKit,
  series: DqSeries,
): Promise<void> {
  const visit = { at: new Date(), seen: new Map([['a', 1n]]) };
  await dq.now(Visits, visit);
  await dq.tube(Next).addMany([{ payload: visit }]);
  await dq.reschedule({ tube: Visits, key: 'k' }, { delay: 0 }, { payload: visit });
  await series.upsert('s', { tube: Visits, every: '1h', payload: visit });
  // @ts-expect-error what the producer gives is not JSON
  await dq.now(Visits, { at: '2030-01-01', seen: {} });
  const [letter] = (await letters.list(Visits)).letters;
  holds<Equal<NonNullable<typeof letter>['payload'], Visit | undefined>>();
  const [either] = (await letters.list(First)).letters;
  holds<Equal<NonNullable<typeof either>['payload'], { at: Date } | { at: string } | undefined>>();
  const [json] = (await letters.list(Reminder)).letters;
  holds<Equal<NonNullable<typeof json>['payload'], { at: string; note?: string } | undefined>>();
  const [named] = (await letters.list<{ id: string }>('named')).letters;
  holds<Equal<NonNullable<typeof named>['payload'], { id: string } | undefined>>();
  const [waiting] = kit.scheduled(Visits);
  holds<Equal<NonNullable<typeof waiting>['payload'], Visit>>();
  // @ts-expect-error go-queue stores JSON
  defineTube('both', { codec, wire: 'go-queue' });
  // @ts-expect-error no codec
  defineTube('none', { codec: 'superjson' });
  // @ts-expect-error neither a string nor bytes
  defineTube('none', { codec: { name: 'a', encode: () => 5, decode: String } });
}
