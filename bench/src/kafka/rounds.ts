import { inFlight } from '../in-flight.js';
import { rate } from '../rate.js';
import { pause } from '../waiting.js';
import type { Broker } from './broker.js';
import type { StreamLibrary } from './client.js';
import { messages, type Message } from './messages.js';

/** Milliseconds without a message after which a round fails. */
const PATIENCE = 60_000;
/** Keys of messages that need no order among each other. */
export const KEYS = 1_000;

/** Pushes by so many callers, each of which awaits its push. Resolves with the pushes a second. */
export async function pushRound(
  broker: Broker,
  library: StreamLibrary,
  count: number,
  callers: number,
): Promise<number> {
  const client = await broker.connect(library);
  const topic = await broker.newTopic();
  await client.push(topic, messages(1, 1)[0]!); // the metadata of the topic is known
  const all = messages(count, KEYS);
  return rate(count, () => inFlight(all, (message) => client.push(topic, message), callers));
}

/** Consumes what is there. Resolves with the messages a second, from the first handled one to the end of the last. */
export async function consumeRound(
  broker: Broker,
  library: StreamLibrary,
  topic: string,
  count: number,
  handler: number,
): Promise<number> {
  const client = await broker.connect(library);
  let first = 0;
  const seen = new Seen(count);
  const end = await client.consume(topic, (message) => {
    first ||= performance.now();
    if (handler === 0) return seen.add(message);
    return pause(handler).then(() => seen.add(message));
  });
  await seen.all;
  const took = performance.now() - first;
  await end();
  return (1_000 * count) / took;
}

/** From the push to the start of the handler, in ms, at so many pushes a second. */
export async function latencyRound(
  broker: Broker,
  library: StreamLibrary,
  load: { readonly rate: number; readonly seconds: number },
): Promise<Float64Array> {
  const client = await broker.connect(library);
  const topic = await broker.newTopic();
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
  return samples.subarray(0, all.length);
}

/** Fills a topic with messages of so many keys, for all who consume it. */
export async function filled(broker: Broker, library: StreamLibrary, count: number): Promise<string> {
  const client = await broker.connect(library);
  const topic = await broker.newTopic();
  await inFlight(messages(count, KEYS), (message) => client.push(topic, message), 5_000);
  return topic;
}

/** The messages that were handled, each of which counts once. */
class Seen {
  /** Resolves when each was handled. Rejects when none comes for a minute. */
  readonly all: Promise<void>;
  private readonly handled: Uint8Array;
  private left: number;
  private finish!: () => void;
  private told = -1;

  constructor(count: number) {
    this.handled = new Uint8Array(count);
    this.left = count;
    this.all = new Promise((resolve, reject) => {
      const watch = setInterval(() => {
        if (this.left === this.told) reject(new Error(`${this.left} of ${count} messages were not handled`));
        this.told = this.left;
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
