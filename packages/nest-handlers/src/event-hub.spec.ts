import { describe, expect, it } from '@jest/globals';
import { firstValueFrom, map, mergeMap, take, throwError } from 'rxjs';
import { EventHub } from './event-hub.js';

/** The events of a small library. */
interface Events {
  opened: { readonly by: string };
  closed: { readonly by: string };
}

class CollectingHub extends EventHub<Events> {
  readonly failures: string[];

  constructor() {
    const failures: string[] = [];
    super({
      names: ['opened', 'closed'],
      listenerFailed: (who, thrown) => void failures.push(`${who}: ${(thrown as Error).message}`),
      unknownName: (name, known) => new Error(`no ${String(name)}, but ${known.join(' and ')}`),
    });
    this.failures = failures;
  }

  collect<N extends keyof Events>(name: N): Events[N][] {
    const told: Events[N][] = [];
    this.on(name).subscribe((event) => told.push(event));
    return told;
  }
}

const ANN = { by: 'ann' };

/** After the timers that were set before, with which rxjs throws again, and all microtasks. */
const later = () => new Promise((resolve) => setTimeout(resolve, 0));

describe('EventHub', () => {
  it('notifies whoever listens, and knows whether anybody does', () => {
    const hub = new CollectingHub();
    expect(hub.heard('opened')).toBe(false);
    const seen: unknown[] = [];
    const subscription = hub.on('opened').subscribe((event) => seen.push(event));
    hub.listen('opened', (event) => seen.push(event), 'Pager.call');
    expect([hub.heard('opened'), hub.heard('closed')]).toEqual([true, false]);
    hub.emit('opened', ANN);
    subscription.unsubscribe();
    hub.emit('opened', ANN);
    expect(seen).toEqual([ANN, ANN, ANN]);
  });

  it.each<[string, (hub: CollectingHub) => void]>([
    ['a subscriber that throws', (hub) => hub.on('opened').subscribe(thrower)],
    ['an observer that throws', (hub) => hub.on('opened').subscribe({ next: thrower })],
    ['a subscriber that rejects', (hub) => hub.on('opened').subscribe(rejecter)],
    [
      'a subscriber behind operators that throws',
      (hub) => hub.on('opened').pipe(take(9), map(String)).subscribe(thrower),
    ],
    ['an operator that throws', (hub) => hub.on('opened').pipe(map(thrower)).subscribe()],
    [
      'an error that nobody takes',
      (hub) =>
        hub
          .on('opened')
          .pipe(mergeMap(() => throwError(() => new Error('oh'))))
          .subscribe(),
    ],
    ['a listener that throws', (hub) => hub.listen('opened', thrower, 'Pager.call')],
    ['a listener that rejects', (hub) => hub.listen('opened', rejecter, 'Pager.call')],
  ])('is not harmed by %s', async (_who, subscribe) => {
    const hub = new CollectingHub();
    const uncaught: unknown[] = [];
    const note = (error: unknown) => void uncaught.push(error);
    process.on('uncaughtException', note).on('unhandledRejection', note);
    try {
      subscribe(hub);
      const others = hub.collect('opened');
      hub.emit('opened', ANN);
      await later();
      expect(others).toEqual([ANN]);
      expect(hub.failures).toEqual([
        expect.stringMatching(/(subscriber of `opened`|Pager\.call at `opened`): oh$/),
      ]);
      expect(uncaught).toEqual([]);
    } finally {
      process.off('uncaughtException', note).off('unhandledRejection', note);
    }
  });

  it('keeps notifying a listener that threw', () => {
    const hub = new CollectingHub();
    hub.on('opened').subscribe(thrower);
    for (let i = 0; i < 3; i++) hub.emit('opened', ANN);
    expect(hub.failures).toHaveLength(3);
  });

  it('hands an error of an operator to its own subscriber', () => {
    const hub = new CollectingHub();
    const errors: unknown[] = [];
    hub
      .on('opened')
      .pipe(map(thrower))
      .subscribe({ error: (error: unknown) => errors.push(error) });
    hub.emit('opened', ANN);
    expect([errors, hub.failures]).toEqual([[new Error('oh')], []]);
  });

  it('is an observable like any other: it can be awaited, and completes at the end', async () => {
    const hub = new CollectingHub();
    const first = firstValueFrom(hub.on('opened'));
    const none = firstValueFrom(hub.on('closed'), { defaultValue: 'none' });
    hub.emit('opened', ANN);
    await expect(first).resolves.toEqual(ANN);
    hub.close();
    hub.close();
    await expect(none).resolves.toBe('none');
    const after = hub.collect('opened');
    hub.emit('opened', ANN);
    expect(after).toEqual([]);
  });

  it('refuses an unknown event', () => {
    const hub = new CollectingHub();
    for (const name of ['ended', 'constructor'] as unknown as (keyof Events)[])
      expect(() => hub.on(name)).toThrow(`no ${name}, but opened and closed`);
  });
});

function thrower(): never {
  throw new Error('oh');
}

function rejecter(): unknown {
  return Promise.reject(new Error('oh'));
}
