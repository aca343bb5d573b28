// Members come, leave and die at random, and handlers fail at random: what holds of each message then.
import { describe, expect, it } from '@jest/globals';
import { MemoryBudget } from './memory-budget.js';
import { MemoryDriver } from '../driver/memory/memory-driver.js';
import { systemClock } from 'nest-handlers/time';
import { GroupConsumer } from './group-consumer.js';
import type { RunSignal } from './run-signal.js';
import { Pauses } from './pauses.js';
import type { Delivery, Outcome } from './topic-work.js';

const log = { debug: () => {}, warn: () => {}, error: () => {} };
const SEEDS = 8;
const MESSAGES = 400;
const KEYS = 20;

function randomOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => (state = (state * 48271) % 2147483647) % below;
}

class Trial {
  private readonly random: (below: number) => number;
  private readonly driver = new MemoryDriver({ clock: systemClock, log, partitions: 4, fetchBytes: 200 });
  /** By key, what was handled, in the order of its handling. */
  private readonly handled = new Map<string, number[]>();
  private readonly broken: string[] = [];
  private members: GroupConsumer[] = [];
  private all = () => {};

  constructor(seed: number) {
    this.random = randomOf(seed);
  }

  async run(): Promise<readonly string[]> {
    const done = new Promise<void>((resolve) => (this.all = resolve));
    await this.join();
    const pushed = this.push();
    for (let change = 0; change < 12; change++) {
      for (let turn = this.random(60); turn >= 0; turn--) await new Promise(setImmediate);
      await this.change();
    }
    await pushed;
    if (this.members.length === 0) await this.join();
    await done;
    await Promise.all(this.members.map((member) => member.stop(60_000)));
    await this.driver.close();
    return this.broken;
  }

  private async push(): Promise<void> {
    const producer = this.driver.producer();
    for (let number = 0; number < MESSAGES; number += KEYS) {
      const messages = Array.from({ length: KEYS }, (_, key) => ({
        key: Buffer.from(`k${key}`),
        value: Buffer.from(String(number)),
      }));
      await producer.send('t', messages);
      await new Promise(setImmediate);
    }
  }

  private async change(): Promise<void> {
    const member = this.members[this.random(this.members.length + 2)];
    if (!member) return this.join();
    this.members = this.members.filter((other) => other !== member);
    // With no time to end its runs it is as if it had died.
    await member.stop(this.random(2) === 0 ? 0 : 60_000);
  }

  private async join(): Promise<void> {
    const running = new Set<string>();
    const run = async (deliveries: readonly Delivery[], run: RunSignal): Promise<readonly Outcome[]> => {
      const keys = new Set(deliveries.map(({ message }) => String(message.key)));
      for (const key of keys) {
        if (running.has(key) && !run.isCut) this.broken.push(`${key} ran twice at the same time`);
        running.add(key);
      }
      for (let turn = this.random(5); turn > 0; turn--) await new Promise(setImmediate);
      for (const key of keys) running.delete(key);
      // The outcome of a run that lost its partition does not count: the next member runs it again.
      if (run.isCut) return deliveries.map((): Outcome => 'handled');
      // A handler of many ends with the first one of a key that fails.
      const failed = new Set<string>();
      return deliveries.map((delivery) => {
        const key = String(delivery.message.key);
        const outcome = failed.has(key) ? { after: 0 } : this.outcomeOf(delivery);
        if (outcome !== 'handled') failed.add(key);
        return outcome;
      });
    };
    const options = {
      order: 'key' as const,
      concurrency: 7,
      size: 1 + this.random(3),
      within: this.random(3),
    };
    const room = { messages: 5 + this.random(40), budget: new MemoryBudget(1e9) };
    const member = new GroupConsumer(this.driver, systemClock, {
      group: 'g',
      from: 'first',
      pauses: new Pauses(),
      commitEvery: 1,
      joined: () => {},
      lapsed: () => {},
      cut: () => {},
      subscriptions: [{ topics: ['t'], ...options, room, run }],
      failed: (error) => void this.broken.push(error.message),
    });
    this.members.push(member);
    await member.start();
  }

  private outcomeOf({ message }: Delivery): Outcome {
    const key = String(message.key);
    const number = Number(message.value);
    const before = this.handled.get(key) ?? [];
    // A message that was handled before may come again, but none may be left out.
    const next = before.length === 0 ? 0 : Math.max(...before) + KEYS;
    if (number > next) this.broken.push(`${key}: ${number} came before ${next}`);
    if (number === next && this.random(10) === 0) return { after: this.random(3) };
    this.handled.set(key, [...before, number]);
    const over = [...this.handled.values()].every((each) => each.includes(MESSAGES - KEYS));
    if (over && this.handled.size === KEYS) this.all();
    return 'handled';
  }
}

describe('messages of one key', () => {
  it('are each handled, and in their order, while members come, leave and die', async () => {
    for (let seed = 1; seed <= SEEDS; seed++)
      expect({ seed, broken: await new Trial(seed).run() }).toEqual({ seed, broken: [] });
  });
});
