/** Starts a group at the end of topics in which it has committed nothing. */
import type { BrokerClient } from './broker-client.js';
import type { Cluster } from './cluster.js';
import type { GroupOffset } from './message.js';

/** How long to wait for a leader's election; without a leader a partition starts at its first message. */
const ELECTION_MS = 3_000;
const PAUSE_MS = 100;

/**
 * Commits the end explicitly. The clients themselves start at the end each time nothing is committed: then a crash before the
 * first commit, or a commit that the brokers have dropped, loses what came meanwhile.
 */
export class StartAtEnd {
  private readonly sure: Set<string>;

  constructor(
    private readonly client: BrokerClient,
    private readonly cluster: Cluster,
    private readonly group: string,
    private readonly commit: (offsets: readonly GroupOffset[]) => Promise<unknown>,
    fromFirst?: ReadonlySet<string>,
  ) {
    this.sure = new Set(fromFirst);
  }

  isUnsure(topic: string): boolean {
    return !this.sure.has(topic);
  }

  /**
   * Commits the ends of a topic in which nothing is committed, unless it is no longer `current`. Rejects if it can't.
   * @returns Those ends; empty if the group continues where it was.
   */
  async settle(topic: string, current = () => true): Promise<readonly GroupOffset[]> {
    if (!this.isUnsure(topic)) return [];
    const committed = await this.cluster.committed(this.group, topic);
    let ends: readonly GroupOffset[] = [];
    if (committed.every(({ offset }) => offset === undefined)) {
      // All partitions, so that members with other partitions don't take this for an old group.
      ends = await this.endOf(topic);
      if (!current()) return [];
      await this.commit(ends);
    }
    this.sure.add(topic);
    return ends;
  }

  /**
   * Resolves with the offset after the last message of each partition. One without a leader starts at its first message:
   * messages stored once it has a leader must not be skipped, and can't be distinguished from earlier ones by then.
   */
  private async endOf(topic: string): Promise<GroupOffset[]> {
    const { client } = this;
    for (const until = client.clock.now() + ELECTION_MS; ; await client.delay(PAUSE_MS)) {
      const ends = await this.cluster.endsOfLed(topic);
      const leaderless = ends.flatMap((end, partition) => (end ? [] : [`${topic}/${partition}`]));
      if (leaderless.length > 0 && client.clock.now() < until) continue;
      if (leaderless.length > 0)
        client.log.warn(
          `${leaderless.join(', ')}: no leader knows the end, so the group starts at the first message`,
        );
      return ends.map((end, partition) => ({ topic, partition, offset: end?.end ?? 0n }));
    }
  }
}
