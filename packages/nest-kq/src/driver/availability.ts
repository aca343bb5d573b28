/** Watches the topics of a member: which of them, or of its partitions, can't be read now. */
import type { Timer } from 'nest-handlers/time';
import type { BrokerClient } from './broker-client.js';
import { hasLeader, type Cluster, type TopicInfo } from './cluster.js';
import type { Unavailable } from './driver.js';
import type { TopicPartition } from './message.js';

/** Check interval. */
const INTERVAL_MS = 5_000;
/** Check interval while something is missing. */
const SOON_MS = 1_000;

export class Availability {
  private topics: readonly string[] = [];
  private named: ReadonlySet<string> = new Set();
  private assigned: readonly TopicPartition[] = [];
  /** Reported topics and partitions, by name. */
  private told = new Map<string, Unavailable>();
  /** Topics and partitions the last check didn't find, by name. */
  private missing = new Map<string, Unavailable>();
  private timer: Timer | undefined;
  private stopped = false;

  constructor(
    private readonly client: BrokerClient,
    private readonly cluster: Pick<Cluster, 'describe'>,
    /** Takes everything missing, each time it changes. */
    private readonly report: (places: readonly Unavailable[]) => void,
  ) {}

  /** Starts watching these. @param named Names that should exist; a deleted topic simply no longer matches an expression. */
  watch(topics: readonly string[], named: ReadonlySet<string>): void {
    this.topics = topics;
    this.named = named;
    if (!this.timer && !this.stopped) this.arm();
  }

  /** Sets the member's partitions. */
  assign(assigned: readonly TopicPartition[]): void {
    this.assigned = assigned;
  }

  /** Idempotent. */
  stop(): void {
    this.stopped = true;
    this.timer?.cancel();
  }

  private arm(): void {
    const after = this.missing.size > 0 || this.told.size > 0 ? SOON_MS : INTERVAL_MS;
    this.timer = this.client.clock.after(after, () => void this.look());
  }

  private async look(): Promise<void> {
    try {
      const answers = await this.cluster.describe(this.topics, 0);
      if (this.stopped) return;
      this.compare(answers);
    } catch (error) {
      this.client.log.debug(`cannot check topics: ${String(error)}`); // the member itself reports that brokers are away
    }
    if (!this.stopped) this.arm();
  }

  private compare(answers: readonly TopicInfo[]): void {
    const before = this.missing;
    this.missing = new Map(this.find(answers).map((each) => [nameOf(each), each]));
    // Reported only the second time: a leader may be under election, or a broker may not know a new topic yet.
    const now = new Map([...this.missing].filter(([name]) => before.has(name) || this.told.has(name)));
    const changed = now.size !== this.told.size || [...now.keys()].some((name) => !this.told.has(name));
    this.told = now;
    if (changed) this.report([...now.values()]);
  }

  private find(answers: readonly TopicInfo[]): Unavailable[] {
    return answers.flatMap(({ topic, error, partitions }): Unavailable[] => {
      if (error === 'refused') return [{ topic, why: 'refused' }];
      if (error) return this.named.has(topic) ? [{ topic, why: 'unknown' }] : [];
      const led = new Map(partitions.map((each) => [each.partition, hasLeader(each)]));
      return this.assigned
        .filter((each) => each.topic === topic && led.get(each.partition) === false)
        .map(({ partition }) => ({ topic, partition, why: 'leaderless' }));
    });
  }
}

function nameOf({ topic, partition = -1 }: Unavailable): string {
  return `${topic}/${partition}`;
}
