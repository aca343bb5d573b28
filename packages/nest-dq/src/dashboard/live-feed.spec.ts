import { AsyncLocalStorage } from 'node:async_hooks';
import { describe, expect, it } from '@jest/globals';
import { VirtualClock } from 'nest-handlers/testing';
import { LiveFeed, type AskParts, type LiveStream } from './live-feed.js';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

const ANSWERS: AskParts = {
  tubes: async () => ({ tubes: [], more: false, away: [] }),
  nodes: async () => [],
  ledger: async () => ({ kind: 'redis', up: true, servers: [], problems: [] }),
  processes: async () => [],
  acts: async () => ({ acts: [] }),
  health: async () => ({ status: 'up' }),
};

/** A viewer's answer, which leaves the feed when it ends, as the answer of a server does. */
class Listener implements LiveStream {
  readonly texts: string[] = [];
  gone = false;
  isBehind = false;

  constructor(private readonly feed: LiveFeed) {}

  open(): void {}

  write(text: string): void {
    this.texts.push(text);
  }

  end(): void {
    this.gone = true;
    this.feed.leave(this);
  }

  /** The times of the states it received, in seconds. */
  get states(): readonly number[] {
    return this.texts
      .flatMap((text) => /^event: state\ndata: (.*)\n\n$/.exec(text)?.[1] ?? [])
      .map((data) => (Date.parse(JSON.parse(data).now) - Date.UTC(2030, 0, 1)) / SECOND);
  }
}

function feedWith(ask: Partial<AskParts> = {}): { clock: VirtualClock; feed: LiveFeed } {
  const clock = new VirtualClock();
  return {
    clock,
    feed: new LiveFeed(
      { ...ANSWERS, ...ask },
      () => clock.wall(),
      clock,
      async () => ({ cluster: [], tubes: [] }),
    ),
  };
}

function join(feed: LiveFeed): Listener {
  const listener = new Listener(feed);
  feed.join(listener);
  return listener;
}

describe('a viewer', () => {
  it('is not the one for whom the feed looks: it sees no store of the first one', async () => {
    const storage = new AsyncLocalStorage<string>();
    const seen: unknown[] = [];
    const { clock, feed } = feedWith({ tubes: async () => void seen.push(storage.getStore()) });
    storage.run('the first viewer', () => join(feed));
    await clock.advance(2 * SECOND);
    expect(seen).toEqual([undefined, undefined]);
  });

  it('gets a reconnect delay, and a state every two seconds', async () => {
    const { clock, feed } = feedWith();
    const listener = join(feed);
    await clock.advance(6 * SECOND);
    expect(listener.texts[0]).toBe('retry: 2000\n\n');
    expect(listener.states).toEqual([0, 2, 4, 6]);
  });

  it('hears something every five seconds though nothing answers, and nothing is asked twice at a time', async () => {
    let asked = 0;
    const never = () => {
      asked++;
      return new Promise<never>(() => undefined);
    };
    const { clock, feed } = feedWith({ tubes: never, health: never });
    const listener = join(feed);
    await clock.advance(14 * SECOND);
    expect(listener.states).toEqual([3, 8, 13]);
    expect(JSON.parse(listener.texts[1]!.split('data: ')[1]!)).toMatchObject({
      tubes: null,
      health: null,
      nodes: [],
      errors: { tubes: 'no answer within 3000 ms', health: 'no answer within 3000 ms' },
    });
    expect(asked).toBe(2);
  });

  it('reconnects after 15 seconds, and not before, while others stay', async () => {
    const { clock, feed } = feedWith();
    const first = join(feed);
    await clock.advance(4 * SECOND);
    const second = join(feed);
    await clock.advance(11 * SECOND - 1);
    expect([first.gone, second.gone]).toEqual([false, false]);
    await clock.advance(1);
    expect([first.gone, second.gone]).toEqual([true, false]);
    expect(first.texts.at(-1)).toBe('event: again\ndata: -\n\n');
    expect(second.states.at(-1)).toBe(14);
    await clock.advance(4 * SECOND);
    expect(second.gone).toBe(true);
  });

  it('a slow reader misses states, and gets the next one once it has caught up', async () => {
    const { clock, feed } = feedWith();
    const listener = join(feed);
    await clock.advance(SECOND);
    listener.isBehind = true;
    await clock.advance(4 * SECOND);
    listener.isBehind = false;
    await clock.advance(SECOND);
    expect(listener.states).toEqual([0, 6]);
  });
});

describe('without a viewer', () => {
  it('nothing is asked, and no timer is left', async () => {
    let asked = 0;
    const { clock, feed } = feedWith({ tubes: async () => void asked++ });
    const listeners = [join(feed), join(feed)];
    await clock.advance(SECOND);
    for (const listener of listeners) listener.end();
    expect(clock.nextTimer).toBe(Infinity);
    expect(asked).toBe(1);
  });

  it('the next one gets a new state, not the last one sent', async () => {
    const { clock, feed } = feedWith();
    join(feed).end();
    await clock.advance(MINUTE);
    const listener = join(feed);
    await clock.advance(0);
    expect(listener.states).toEqual([60]);
  });
});

it('a viewer who comes in an outage gets what an earlier one has seen, with its age', async () => {
  let isAway = false;
  const mail = { tube: 'mail', nodes: 1, waiting: 1, due: 0 };
  const { clock, feed } = feedWith({
    tubes: async () => ({ tubes: [isAway ? mail : { ...mail, dead: 7 }], more: false, away: [] }),
  });
  const first = join(feed);
  await clock.advance(SECOND);
  first.end();
  isAway = true;
  await clock.advance(MINUTE);
  const late = join(feed);
  await clock.advance(0);
  expect(JSON.parse(late.texts[1]!.split('data: ')[1]!)).toMatchObject({
    tubes: { tubes: [{ tube: 'mail', dead: 7 }] },
    asOf: { facts: '2030-01-01T00:00:00.000Z' },
  });
});

it('a feed that is closed ends all streams, and those that come later at once', async () => {
  const { clock, feed } = feedWith();
  const listener = join(feed);
  await clock.advance(SECOND);
  feed.close();
  feed.close();
  expect([listener.gone, join(feed).gone, clock.nextTimer]).toEqual([true, true, Infinity]);
});
