// Code that must compile and code that must not, checked by `tsc` alone: a line below `@ts-expect-error` that compiles is an error itself.
import type { TestingModuleBuilder } from '@nestjs/testing';
import { type } from 'arktype';
import { DelayedHandler, DqConsumer, DqProducer, defineTube, type PayloadOf } from 'nest-dq';
import { DqTestKit, type RunCounts, type ScheduledJob } from 'nest-dq/testing';
import * as v from 'valibot';
import { z } from 'zod';
import { type Equal, holds, OrderCancel, Reminder } from './tubes.js';

// ── schemas ──

const Zod = defineTube('zod', { schema: z.object({ id: z.string(), at: z.string().transform(Number) }) });
const Valibot = defineTube('valibot', { schema: v.object({ id: v.pipe(v.string(), v.transform(Number)) }) });
const ArkType = defineTube('arktype', { schema: type({ id: 'string.integer.parse' }) });
holds<Equal<PayloadOf<typeof Zod>, { id: string; at: number }>>();
holds<Equal<PayloadOf<typeof Valibot>, { id: number }>>();
holds<Equal<PayloadOf<typeof ArkType>, { id: number }>>();

export async function withSchemas(dq: DqProducer, consumer: DqConsumer): Promise<void> {
  await dq.now(Zod, { id: '1', at: '5' });
  await dq.tube(Valibot).now({ id: '1' });
  await dq.delay(ArkType, { id: '1' }, '1s');
  await consumer.consume(Zod, ({ at }) => at + 1);
  // @ts-expect-error what the handler gets is not what the producer gives
  await dq.now(Zod, { id: '1', at: 5 });
  // @ts-expect-error a property of another type
  await dq.now(Valibot, { id: 1 });
  // @ts-expect-error a property is missing
  await dq.now(ArkType, {});
  // @ts-expect-error what the producer gives is not what the handler gets
  await consumer.consume(ArkType, ({ id }: { id: string }) => id);
  // @ts-expect-error no schema
  defineTube('no.schema', { schema: {} });
  // @ts-expect-error no such option
  defineTube('more', { schema: z.string(), more: true });
}

export class SchemaHandlers {
  @DelayedHandler(Valibot)
  number({ id }: { id: number }): number {
    return id;
  }

  // @ts-expect-error a property of another type
  @DelayedHandler(Valibot)
  text(_payload: { id: string }): void {}
}

// ── the test kit ──

export async function travel(kit: DqTestKit, builder: TestingModuleBuilder): Promise<RunCounts> {
  await kit.override(builder).compile();
  await kit.producer.now(OrderCancel, { id: '42', count: 1 });
  await kit.consumer.consume(OrderCancel, ({ count }) => count);
  const [job] = kit.scheduled(Reminder);
  holds<Equal<NonNullable<typeof job>['payload'], { at: string; note?: string }>>();
  const [transformed]: ScheduledJob<{ id: string }>[] = kit.scheduled(Valibot, 'second');
  // @ts-expect-error stored is what was given, not what the schema makes of it
  const id: number = transformed!.payload.id;
  kit.sleepNode(id);
  kit.wakeNode(0);
  // @ts-expect-error the present is not to be set
  kit.now = new Date();
  // @ts-expect-error an instant is no duration
  await kit.advance(new Date());
  await kit.advanceTo(new Date());
  await kit.drain();
  const { started, completed, failed, dead, expired } = await kit.advance('15m');
  return { started, completed, failed, dead, expired };
}
export const kits = [
  new DqTestKit(),
  new DqTestKit({ now: new Date(), nodes: 5, patience: '500ms' }),
  // @ts-expect-error no such option
  new DqTestKit({ node: 5 }),
];
