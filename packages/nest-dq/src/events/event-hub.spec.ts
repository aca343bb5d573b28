import { describe, expect, it } from '@jest/globals';
import { firstValueFrom, map, mergeMap, take, throwError } from 'rxjs';
import type { DelayedJob } from '../api/job.js';
import { CollectingHub } from '../../spec-support/collecting-hub.js';
import type { DqEventName } from './events.js';

const UP = { node: 'n1' };
const job = (lateness: number) => ({ lateness }) as DelayedJob;

/** After the timers that were set before, with which rxjs throws again, and all microtasks. */
const later = () => new Promise((resolve) => setTimeout(resolve, 0));

describe('EventHub', () => {
  it('tells whoever listens, and knows whether anybody does', () => {
    const hub = new CollectingHub();
    expect(hub.heard('nodeUp')).toBe(false);
    const seen: unknown[] = [];
    const subscription = hub.on('nodeUp').subscribe((event) => seen.push(event));
    hub.listen('nodeUp', (event) => seen.push(event), 'Pager.up');
    expect([hub.heard('nodeUp'), hub.heard('nodeDown')]).toEqual([true, false]);
    hub.tell('nodeUp', UP);
    subscription.unsubscribe();
    hub.tell('nodeUp', UP);
    expect(seen).toEqual([UP, UP, UP]);
  });

  it('tells a start as late only above the limit, and after the start', () => {
    const hub = new CollectingHub(100);
    const seen: string[] = [];
    for (const name of ['late', 'started'] as const) {
      hub.on(name).subscribe(({ job: { lateness } }) => seen.push(`${name} ${lateness}`));
    }
    for (const lateness of [100, 101]) hub.started(job(lateness));
    expect(seen).toEqual(['started 100', 'started 101', 'late 101']);
  });

  it.each<[string, (hub: CollectingHub) => void]>([
    ['a subscriber that throws', (hub) => hub.on('nodeUp').subscribe(thrower)],
    ['an observer that throws', (hub) => hub.on('nodeUp').subscribe({ next: thrower })],
    ['a subscriber that rejects', (hub) => hub.on('nodeUp').subscribe(rejecter)],
    [
      'a subscriber behind operators that throws',
      (hub) => hub.on('nodeUp').pipe(take(9), map(String)).subscribe(thrower),
    ],
    ['an operator that throws', (hub) => hub.on('nodeUp').pipe(map(thrower)).subscribe()],
    [
      'an error that nobody takes',
      (hub) =>
        hub
          .on('nodeUp')
          .pipe(mergeMap(() => throwError(() => new Error('oh'))))
          .subscribe(),
    ],
    ['a listener that throws', (hub) => hub.listen('nodeUp', thrower, 'Pager.up')],
    ['a listener that rejects', (hub) => hub.listen('nodeUp', rejecter, 'Pager.up')],
  ])('is not harmed by %s', async (_who, subscribe) => {
    const hub = new CollectingHub();
    const uncaught: unknown[] = [];
    const note = (error: unknown) => void uncaught.push(error);
    process.on('uncaughtException', note).on('unhandledRejection', note);
    try {
      subscribe(hub);
      const others = hub.collect('nodeUp');
      hub.tell('nodeUp', UP);
      await later();
      expect(others).toEqual([UP]);
      expect(hub.failures).toEqual([
        expect.stringMatching(/(subscriber of `nodeUp`|Pager\.up at `nodeUp`): oh$/),
      ]);
      expect(uncaught).toEqual([]);
    } finally {
      process.off('uncaughtException', note).off('unhandledRejection', note);
    }
  });

  it('goes on telling a listener that threw', () => {
    const hub = new CollectingHub();
    hub.on('nodeUp').subscribe(thrower);
    for (let i = 0; i < 3; i++) hub.tell('nodeUp', UP);
    expect(hub.failures).toHaveLength(3);
  });

  it('gives an error that an operator made to who takes it', () => {
    const hub = new CollectingHub();
    const errors: unknown[] = [];
    hub
      .on('nodeUp')
      .pipe(map(thrower))
      .subscribe({ error: (error: unknown) => errors.push(error) });
    hub.tell('nodeUp', UP);
    expect([errors, hub.failures]).toEqual([[new Error('oh')], []]);
  });

  it('is an observable like any other: it can be awaited, and completes at the end', async () => {
    const hub = new CollectingHub();
    const first = firstValueFrom(hub.on('nodeUp'));
    const none = firstValueFrom(hub.on('nodeDown'), { defaultValue: 'none' });
    hub.tell('nodeUp', UP);
    await expect(first).resolves.toEqual(UP);
    hub.close();
    hub.close();
    await expect(none).resolves.toBe('none');
    const after = hub.collect('nodeUp');
    hub.tell('nodeUp', UP);
    expect(after).toEqual([]);
  });

  it('refuses what is no event', () => {
    const hub = new CollectingHub();
    expect(() => hub.on('finished' as DqEventName)).toThrow(
      /DQ_BAD_OPTION: there is no event "finished": expected one of scheduled, started, completed, failed, dead, revoked, late, nodeDown, nodeUp, nodeTrouble/,
    );
    expect(() => hub.on('constructor' as DqEventName)).toThrow(/DQ_BAD_OPTION/);
  });
});

function thrower(): never {
  throw new Error('oh');
}

function rejecter(): unknown {
  return Promise.reject(new Error('oh'));
}
