import { apart } from '../apart.js';
import { inFlight } from '../in-flight.js';
import { pause } from '../waiting.js';
import type { StreamClient } from './client.js';
import { withLibrary, type LibraryName } from './libraries.js';
import { messages, type Message } from './messages.js';

/** Milliseconds without a message after which a round fails. */
const PATIENCE = 60_000;
/** Keys of messages that need no order among each other. */
export const KEYS = 1_000;

/** A library, the broker, and one topic of it. */
export interface Place {
  readonly library: LibraryName;
  readonly endpoint: string;
  readonly topic: string;
}

export interface Speed {
  /** Messages a second. */
  readonly rate: number;
  /** Processor time of the client's process, in µs for each message. */
  readonly cpu: number;
}

/** Pushes by `callers` callers, each of which awaits its push, after as many pushes to warm up. */
export const pushRound = apart(
  import.meta.url,
  'pushRound',
  ({ library, endpoint, topic }: Place, count: number, callers: number) =>
    withLibrary(library, endpoint, async (client) => {
      const push = (message: Message) => client.push(topic, message);
      await inFlight(messages(count, KEYS), push, callers);
      const all = messages(count, KEYS);
      const speed = startClock(count);
      await inFlight(all, push, callers);
      return speed();
    }),
);

/**
 * Consumes what is there twice, by two groups, of which the first one warms up. Resolves with the speed of the second, from
 * the first handled message to the end of the last. `handler`: how long it runs, in ms.
 */
export const consumeRound = apart(
  import.meta.url,
  'consumeRound',
  ({ library, endpoint, topic }: Place, count: number, handler: number) =>
    withLibrary(library, endpoint, async (client) => {
      await consumeAll(client, topic, count, handler);
      return consumeAll(client, topic, count, handler);
    }),
);

async function consumeAll(
  client: StreamClient,
  topic: string,
  count: number,
  handler: number,
): Promise<Speed> {
  let speed: (() => Speed) | undefined;
  const seen = new Seen(count);
  const end = await client.consume(topic, (message) => {
    speed ??= startClock(count);
    if (handler === 0) return seen.add(message);
    return pause(handler).then(() => seen.add(message));
  });
  await seen.all;
  const found = speed!();
  await end();
  return found;
}

/** Starts a clock. Returns a function that returns the speed of `count` messages since then. */
function startClock(count: number): () => Speed {
  const from = performance.now();
  const before = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(before);
    return { rate: (1_000 * count) / (performance.now() - from), cpu: (user + system) / count };
  };
}

/** Returns the times from the push to the start of the handler, in ms, at `rate` pushes a second. */
export const latencyRound = apart(
  import.meta.url,
  'latencyRound',
  ({ library, endpoint, topic }: Place, load: { readonly rate: number; readonly seconds: number }) =>
    withLibrary(library, endpoint, async (client) => {
      const all = messages(load.rate * load.seconds, KEYS);
      const warm = messages(load.rate, KEYS).map((message) => ({ ...message, n: all.length + message.n }));
      const seen = new Seen(all.length + warm.length);
      const samples = new Float64Array(all.length + warm.length);
      const end = await client.consume(topic, (message) => {
        samples[message.n] = performance.now() - message.at;
        seen.add(message);
      });
      const pushes: Promise<unknown>[] = [];
      const from = performance.now();
      for (const [i, message] of [...warm, ...all].entries()) {
        const wait = from + (1_000 * i) / load.rate - performance.now();
        if (wait > 1) await pause(wait);
        message.at = performance.now();
        pushes.push(client.push(topic, message));
      }
      await Promise.all(pushes);
      await seen.all;
      await end();
      return samples.slice(0, all.length);
    }),
);

/** Fills a topic with messages, for all who consume it. */
export const fillTopic = apart(
  import.meta.url,
  'fillTopic',
  ({ library, endpoint, topic }: Place, count: number) =>
    withLibrary(library, endpoint, (client) =>
      inFlight(messages(count, KEYS), (message) => client.push(topic, message), 5_000),
    ),
);

/** The messages that were handled, each of which counts once. */
class Seen {
  /** Resolves when each was handled. Rejects when none comes for a minute. */
  readonly all: Promise<void>;
  private readonly handled: Uint8Array;
  private left: number;
  private finish!: () => void;
  private leftBefore = -1;

  constructor(count: number) {
    this.handled = new Uint8Array(count);
    this.left = count;
    this.all = new Promise((resolve, reject) => {
      const watch = setInterval(() => {
        if (this.left === this.leftBefore)
          reject(new Error(`${this.left} of ${count} messages were not handled`));
        this.leftBefore = this.left;
      }, PATIENCE);
      this.finish = () => {
        clearInterval(watch);
        resolve();
      };
    });
    this.all.catch(() => undefined); // no unhandled rejection if nobody awaits it yet
  }

  add({ n }: Message): void {
    if (this.handled[n] === 1) return; // at least once
    this.handled[n] = 1;
    if (--this.left === 0) this.finish();
  }
}
