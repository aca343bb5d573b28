/** Facts about topics for a producer: their partitions, and the leader of each. */
import type { BrokerClient } from './broker-client.js';
import type { Cluster } from './cluster.js';
import type { OutgoingMessage } from './message.js';

/** Max age before a topic is refreshed: it may have other leaders, or more partitions. */
const FRESH_MS = 10_000;

export interface Leaders {
  /** By partition; -1 for none. */
  readonly of: readonly number[];
  /** Partitions with a leader; all of them if none has one. */
  readonly led: readonly number[];
  /** Number of distinct leaders. */
  readonly count: number;
}

export function leadersOf(of: readonly number[]): Leaders {
  const led = of.flatMap((leader, partition) => (leader < 0 ? [] : [partition]));
  return { of, led: led.length > 0 ? led : [...of.keys()], count: new Set(of).size };
}

export class TopicLeaders {
  private readonly all = new Map<string, { readonly leaders: Leaders; readonly until: number }>();
  /** Pending lookups. */
  private readonly looking = new Map<string, Promise<Leaders>>();

  constructor(
    private readonly client: BrokerClient,
    private readonly cluster: Cluster,
  ) {}

  /**
   * Returns the leaders as of the last lookup; stale ones are refreshed in the background. Undefined if the topic is unknown, or
   * a message names an unknown partition.
   */
  known(topic: string, messages: readonly OutgoingMessage[]): Leaders | undefined {
    const known = this.all.get(topic);
    if (!known) return undefined;
    const { leaders, until } = known;
    if (!messages.every(({ partition = 0 }) => partition < leaders.of.length)) return undefined;
    if (until <= this.client.clock.now()) this.lookAgain(topic);
    return leaders;
  }

  /**
   * Resolves with the leaders. Rejects with `KQ_UNKNOWN_TOPIC`, `KQ_AWAY` after `patience` ms, or `KQ_REFUSED`.
   * @param messages If one of them names an unknown partition, the topic is looked up again.
   */
  async leaders(topic: string, patience: number, messages: readonly OutgoingMessage[]): Promise<Leaders> {
    return this.known(topic, messages) ?? this.look(topic, patience);
  }

  /** Drops a topic that may have changed or been deleted. */
  forget(topic: string): void {
    this.all.delete(topic);
  }

  /** Refreshes a topic whose leaders may have changed. */
  doubt(topic: string): void {
    if (this.all.has(topic)) this.lookAgain(topic);
  }

  private lookAgain(topic: string): void {
    if (this.looking.has(topic)) return;
    const looking = this.look(topic, 0);
    this.looking.set(topic, looking);
    looking
      .catch((error: unknown) => {
        this.client.log.debug(`cannot check ${topic}: ${String(error)}`);
        // The next push reports it.
        if (error instanceof Error && 'code' in error && error.code === 'KQ_UNKNOWN_TOPIC')
          this.forget(topic);
      })
      .finally(() => this.looking.delete(topic));
  }

  private async look(topic: string, patience: number): Promise<Leaders> {
    const partitions = await this.cluster.partitions(topic, patience);
    const leaders = leadersOf(partitions.map(({ leader }) => leader));
    this.all.set(topic, { leaders, until: this.client.clock.now() + FRESH_MS });
    return leaders;
  }
}
