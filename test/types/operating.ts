// Code that must compile and code that must not, checked by `tsc` alone: a line below `@ts-expect-error` that compiles is an error itself.
import { DqError, OnDq, type DqEventMap } from 'nest-dq';
import {
  DqControl,
  type ActProgress,
  type BulkProgress,
  type DeadLetter,
  type MoveExample,
} from 'nest-dq/operate';
import { type Equal, holds } from './tubes.js';

export class Audit {
  @OnDq('operated')
  operated({ by, act, on, count, error }: DqEventMap['operated']): string {
    return `${by} ${act} ${on.tube ?? on.node} ${count} ${error?.message}`;
  }
}

export async function bulk(control: DqControl): Promise<ActProgress | undefined> {
  const filter = { diedFrom: new Date(), why: 'attempts', error: 'refused', limit: 100 } as const;
  try {
    for await (const progress of control.reviveMany('order.cancel', filter, { delay: '1m', by: 'ann' })) {
      holds<Equal<typeof progress, BulkProgress<DeadLetter>>>();
      if (progress.failed > 0) break;
    }
    // @ts-expect-error there is no such reason
    control.discardMany('order.cancel', { why: 'boredom' });
    // @ts-expect-error a filter says which; {} means all
    control.discardMany('order.cancel');
    // @ts-expect-error what is discarded is gone
    control.discardMany('order.cancel', {}, { delay: '1m' });
    const later = { later: '1h' } as const;
    for await (const { examples } of control.rescheduleMany('order.cancel', { state: 'retrying' }, later)) {
      holds<Equal<typeof examples, readonly MoveExample[]>>();
    }
    control.rescheduleMany('order.cancel', {}, { spread: '30m' });
    control.resumeGradually('order.cancel', { perMinute: 600 }, { dryRun: true });
    // @ts-expect-error over a duration, not until a time
    control.rescheduleMany('order.cancel', {}, { spread: new Date() });
    control.revokeMany('order.cancel', { dueTo: new Date() }, { dryRun: true });
    // @ts-expect-error a text is no instant
    control.rescheduleMany('order.cancel', {}, 'tomorrow');
    // @ts-expect-error a dead job does not wait
    control.revokeMany('order.cancel', { state: 'dead' });
  } catch (error) {
    if (error instanceof DqError) return error.progress;
  }
  return undefined;
}
