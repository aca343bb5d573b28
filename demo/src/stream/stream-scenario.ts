import { setTimeout as sleep } from 'node:timers/promises';
import type { KqPusher } from 'nest-kq';
import type { KafkaServer } from 'test-servers';
import type { Screen } from '../screen.js';
import type { ConsumerProcess } from './consumer-process.js';
import { Orders } from './order-topic.js';
import { streamTally, type StreamEntry, type StreamTally } from './stream-tally.js';

const CUSTOMERS = 40;
/** Milliseconds between two orders, each of the next customer. */
const ORDER_EVERY = 3;
/** Milliseconds that things stay as they are before the next thing dies. */
const CALM = 3_000;
/** Milliseconds after the last order. By then all orders are handled, also by who had to take over. */
const DONE_LIMIT = 40_000;
/** Milliseconds in which another run would show. */
const QUIET = 2_000;
const LOOK_EVERY = 100;

/** Orders come all the time, while one of two consumers is killed, and then the broker. */
export class StreamScenario {
  private readonly counts = new Map<string, number>();
  private open = true;

  constructor(
    private readonly kq: KqPusher,
    private readonly broker: KafkaServer,
    private readonly consumers: readonly [ConsumerProcess, ConsumerProcess],
    /** All that was seen so far; consumers add to it. */
    private readonly log: StreamEntry[],
    private readonly screen: Screen,
    /** Ends the scenario: `play` rejects when it aborts. */
    private readonly signal: AbortSignal,
  ) {}

  async play(): Promise<StreamTally> {
    const [victim] = this.consumers;
    await Promise.all(this.consumers.map((consumer) => consumer.start()));
    this.screen.say(`two consumers are running; ${CUSTOMERS} customers keep ordering`);
    const ordering = this.keepOrdering();
    const acts = async () => {
      await this.look(CALM);
      await victim.kill();
      this.screen.say('a consumer was killed (SIGKILL) while running handlers');
      await this.look(CALM);
      const waiting = this.tally().stored;
      await this.until(() => this.tally().handled >= waiting, DONE_LIMIT);
      this.screen.say('the other one has taken over; restarting the consumer');
      await victim.start();
      await this.look(CALM);
      await this.broker.kill('SIGKILL');
      this.screen.say('the broker was killed (SIGKILL); orders keep coming and wait');
      await this.look(CALM);
      await this.broker.restart();
      this.screen.say('the broker is back');
      await this.look(CALM);
    };
    await Promise.all([ordering, acts().finally(() => (this.open = false))]);
    this.screen.say(`all ${this.tally().stored} orders are stored; no more come`);
    await this.until(() => this.tally().lost === 0, DONE_LIMIT);
    await this.look(QUIET);
    return this.tally();
  }

  /** Rejects if an order could not be stored. */
  private async keepOrdering(): Promise<void> {
    const pushes: Promise<void>[] = [];
    const failed = new AbortController();
    const signal = AbortSignal.any([this.signal, failed.signal]);
    const order = async (customer: string) => {
      const nr = (this.counts.get(customer) ?? 0) + 1;
      this.counts.set(customer, nr);
      await this.kq.push(Orders, { customer, nr }, { key: customer });
      this.log.push({ what: 'stored', customer, nr });
    };
    for (let turn = 0; this.open; turn++) {
      const push = order(`customer ${turn % CUSTOMERS}`);
      push.catch((error: unknown) => failed.abort(error));
      pushes.push(push);
      await sleep(ORDER_EVERY, undefined, { signal });
    }
    await Promise.all(pushes);
  }

  private look(time: number): Promise<void> {
    return this.until(() => false, time);
  }

  /** Shows the progress until the condition holds, or the time is over. */
  private async until(condition: () => boolean, time: number): Promise<void> {
    const end = performance.now() + time;
    while (performance.now() < end && !condition()) {
      const { stored, handled, failed, again, lost } = this.tally();
      this.screen.progress(
        `${stored} orders stored, ${handled} handled, ${failed} runs failed, ${again} ran again, ${lost} to come`,
      );
      await sleep(LOOK_EVERY, undefined, { signal: this.signal });
    }
  }

  private tally(): StreamTally {
    return streamTally(this.log);
  }
}
