/** What a producer has to know of its topics: how many partitions, and which broker leads each. */
import type { BrokerClient } from './broker-client.js';
import type { Cluster } from './cluster.js';
import type { OutgoingMessage } from './message.js';

/** After how long a topic is looked at once more: it may have other leaders, or more partitions. */
const FRESH = 10_000;

export interface Leaders {
  /** By partition; -1: none. */
  readonly of: readonly number[];
  /** Partitions that have one; all, where none has. */
  readonly led: readonly number[];
  /** Different ones. */
  readonly count: number;
}

export function leadersOf(of: readonly number[]): Leaders {
  const led = of.flatMap((leader, partition) => (leader < 0 ? [] : [partition]));
  return { of, led: led.length > 0 ? led : [...of.keys()], count: new Set(of).size };
}

export class TopicLeaders {
  private readonly all = new Map<string, { readonly leaders: Leaders; readonly until: number }>();
  /** Looks that are under way. */
  private readonly looking = new Map<string, Promise<Leaders>>();

  constructor(
    private readonly client: BrokerClient,
    private readonly cluster: Cluster,
  ) {}

  /**
   * As they were when the topic was last looked at; what is old is looked at once more, and nobody waits for that. Undefined:
   * it is not known, or one of the messages asks for a partition that is not.
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
   * Rejects with `KQ_UNKNOWN_TOPIC`, `KQ_AWAY` after that many milliseconds, or `KQ_REFUSED`.
   * @param messages If one of them asks for a partition that is not known, the topic is looked at anew.
   */
  async leaders(topic: string, patience: number, messages: readonly OutgoingMessage[]): Promise<Leaders> {
    return this.known(topic, messages) ?? this.look(topic, patience);
  }

  /** It may have changed, or be gone. */
  forget(topic: string): void {
    this.all.delete(topic);
  }

  /** Its leaders may have changed. */
  doubt(topic: string): void {
    if (this.all.has(topic)) this.lookAgain(topic);
  }

  private lookAgain(topic: string): void {
    if (this.looking.has(topic)) return;
    const looking = this.look(topic, 0);
    this.looking.set(topic, looking);
    looking
      .catch((error: unknown) => {
        this.client.log.debug(`cannot look at ${topic}: ${String(error)}`);
        // Who pushes next is told so.
        if (error instanceof Error && 'code' in error && error.code === 'KQ_UNKNOWN_TOPIC')
          this.forget(topic);
      })
      .finally(() => this.looking.delete(topic));
  }

  private async look(topic: string, patience: number): Promise<Leaders> {
    const partitions = await this.cluster.partitions(topic, patience);
    const leaders = leadersOf(partitions.map(({ leader }) => leader));
    this.all.set(topic, { leaders, until: this.client.clock.now() + FRESH });
    return leaders;
  }
}
