import { nodeStats } from 'test-servers';
import { payloadOf, type Payload } from './payload.js';
import type { Servers } from './servers.js';
import type { System } from './systems/system.js';
import { pause } from './waiting.js';

const SLOTS = 50;
const TAKEN = 46;
/** Milliseconds. Short enough that the long handlers end and begin again many times while new jobs are measured. */
const LONG = 10_000;
/** The most milliseconds between two new jobs. */
const BETWEEN = 50;
/** Jobs between two counts of the connections. */
const LOOK_EVERY = 50;

export interface Pickup {
  /** Milliseconds from the call of each add to the start of its job. */
  readonly fromCall: readonly number[];
  /** Milliseconds from the receipt to the start; 0 if the job started before. */
  readonly fromReceipt: readonly number[];
  /** The largest number of connections from this process to one node. */
  readonly connections: number;
}

/**
 * How soon a new job starts while most slots run long handlers. A lane that holds deliveries cannot wait for new copies, so
 * a consumer without other lanes would have to poll.
 */
export async function pickupRound(
  { client, servers, newQueue }: System<Servers>,
  samples: number,
): Promise<Pickup> {
  const queue = newQueue();
  const fromCall: number[] = [];
  const fromReceipt: number[] = [];
  let connections = 0;
  let onStart: () => void = () => undefined;
  const long = new LongHandlers((payload) => client.now(queue, payload));
  await client.consume(queue, (payload) => (payload.n < TAKEN ? long.handle(payload) : onStart()), SLOTS);
  await Promise.all(Array.from({ length: TAKEN }, (_, n) => client.now(queue, payloadOf(n))));
  await long.allRun;
  for (let sample = 0; sample < samples; sample++) {
    const from = performance.now();
    const start = new Promise<number>((resolve) => (onStart = () => resolve(performance.now())));
    await client.now(queue, payloadOf(TAKEN + sample));
    const acknowledged = performance.now();
    const started = await start;
    fromCall.push(started - from);
    fromReceipt.push(Math.max(0, started - acknowledged));
    if (sample % LOOK_EVERY === 0) {
      const stats = await Promise.all(servers.nodes.map(nodeStats));
      // Without the connection that asks for the stats.
      connections = Math.max(connections, ...stats.map((stat) => stat('current-connections') - 1));
    }
    await pause(Math.random() * BETWEEN);
  }
  long.end();
  return { fromCall, fromReceipt, connections };
}

/** Each long handler adds another job with its number when it ends. */
class LongHandlers {
  /** Resolves when each of the long handlers has begun once. */
  readonly allRun: Promise<void>;
  private readonly ended: Promise<void>;
  private readonly begun = new Set<number>();
  private taken!: () => void;
  private over = false;
  private release!: () => void;

  constructor(private readonly add: (payload: Payload) => Promise<unknown>) {
    this.allRun = new Promise((resolve) => (this.taken = resolve));
    this.ended = new Promise((resolve) => (this.release = resolve));
  }

  async handle({ n }: Payload): Promise<void> {
    // The first runs end one after the other, so that the next ones do not all begin at one moment.
    const time = this.begun.has(n) ? LONG : (LONG * (n + 1)) / TAKEN;
    this.begun.add(n);
    if (this.begun.size === TAKEN) this.taken();
    await Promise.race([pause(time), this.ended]);
    if (!this.over) await this.add(payloadOf(n));
  }

  /** Ends the handlers that run. No other follows. */
  end(): void {
    this.over = true;
    this.release();
  }
}
