/** What a producer has to know of its topics: how many partitions, and which broker leads each. */
import type { OutgoingMessage } from '../message.js';
import type { KafkajsClient } from './kafkajs-client.js';
import type { KafkajsCluster } from './kafkajs-cluster.js';

/** After how long a topic is looked at once more, as it may have got more partitions. */
const FRESH = 60_000;

/** What producers of one client share. */
export interface ProducerContext {
  readonly client: KafkajsClient;
  readonly cluster: KafkajsCluster;
  readonly topics: Topics;
}

/** By partition. */
type Leaders = readonly number[];

export class Topics {
  private readonly known = new Map<string, { readonly leaders: Leaders; readonly until: number }>();

  constructor(
    private readonly client: KafkajsClient,
    private readonly cluster: KafkajsCluster,
  ) {}

  /**
   * Rejects with `KQ_UNKNOWN_TOPIC`, `KQ_AWAY` after that many milliseconds, or `KQ_REFUSED`.
   * @param messages If one of them asks for a partition that is not known, the topic is looked at anew.
   */
  async leaders(topic: string, patience: number, messages: readonly OutgoingMessage[]): Promise<Leaders> {
    const { clock } = this.client;
    const known = this.known.get(topic);
    const isKnown = ({ partition = 0 }: OutgoingMessage) => partition < known!.leaders.length;
    if (known && known.until > clock.now() && messages.every(isKnown)) return known.leaders;
    const partitions = await this.cluster.partitions(topic, patience);
    const leaders = partitions.map(({ leader }) => leader);
    this.known.set(topic, { leaders, until: clock.now() + FRESH });
    return leaders;
  }

  /** It may have changed. */
  forget(topic: string): void {
    this.known.delete(topic);
  }
}
