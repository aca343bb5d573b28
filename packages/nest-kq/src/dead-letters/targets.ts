import type { LogAdmin } from '../driver/driver.js';
import { Leaderless, knownEnds } from '../driver/known-ends.js';
import type { OutgoingMessage } from '../driver/message.js';
import { partitionOf } from '../driver/partitioning.js';
import { KqError } from '../errors.js';

interface Target {
  readonly partitions: number;
  readonly leaderless: readonly number[];
}

/** The target topics of a replay, as they were when first needed. */
export class Targets {
  private readonly known = new Map<string, Target>();

  constructor(private readonly admin: LogAdmin) {}

  /**
   * Resolves with an error if the partition of the message's key has no leader: it would wait in vain and block the others. A
   * message without a key goes to any partition with a leader. Rejects with `KQ_AWAY` or `KQ_CLOSED`.
   */
  async refusal(topic: string, { key }: OutgoingMessage): Promise<Leaderless | undefined> {
    if (!key) return undefined;
    let target = this.known.get(topic);
    if (!target) this.known.set(topic, (target = await this.ask(topic)));
    const { partitions, leaderless } = target;
    if (leaderless.length === 0) return undefined;
    const partition = partitionOf(key, partitions);
    return leaderless.includes(partition) ? new Leaderless(topic, [partition]) : undefined;
  }

  private async ask(topic: string): Promise<Target> {
    try {
      const { ends, leaderless } = await knownEnds(this.admin, topic);
      return { partitions: ends.length + leaderless.length, leaderless };
    } catch (error) {
      if (!(error instanceof KqError) || error.code === 'KQ_AWAY' || error.code === 'KQ_CLOSED') throw error;
      return { partitions: 0, leaderless: [] }; // the push reports what is wrong
    }
  }
}
