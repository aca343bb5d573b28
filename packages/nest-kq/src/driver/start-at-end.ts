/** Where a group begins that has committed nothing in a topic, and that is not to read what is there. */
import type { BrokerClient } from './broker-client.js';
import type { Cluster } from './cluster.js';
import type { GroupOffset } from './message.js';

/** Milliseconds that the election of a leader may take; without one a partition begins at its first message. */
const ELECTION = 3_000;
const PAUSE = 100;

/**
 * The clients' own way is to begin at the end each time that nothing is committed: then a crash before the first commit loses
 * what came meanwhile, and so does a commit that the brokers have forgotten.
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
   * Commits the ends of a topic in which nothing is committed, unless that is not `current` any more. Rejects where it cannot.
   * @returns Those ends; none: it goes on where it was.
   */
  async settle(topic: string, current = () => true): Promise<readonly GroupOffset[]> {
    if (!this.isUnsure(topic)) return [];
    const committed = await this.cluster.committed(this.group, topic);
    let ends: readonly GroupOffset[] = [];
    if (committed.every(({ offset }) => offset === undefined)) {
      // All partitions, as a member that has others must not take this for an old group.
      ends = await this.endOf(topic);
      if (!current()) return [];
      await this.commit(ends);
    }
    this.sure.add(topic);
    return ends;
  }

  /**
   * Behind the last message of each partition. One that has no leader begins at its first message: what is stored as soon as it
   * has one must not be skipped, and by then nobody can tell that from what was there before.
   */
  private async endOf(topic: string): Promise<GroupOffset[]> {
    const { client } = this;
    for (const until = client.clock.now() + ELECTION; ; await client.delay(PAUSE)) {
      const ends = await this.cluster.endsOfLed(topic);
      const leaderless = ends.flatMap((end, partition) => (end ? [] : [`${topic}/${partition}`]));
      if (leaderless.length > 0 && client.clock.now() < until) continue;
      if (leaderless.length > 0)
        client.log.warn(
          `${leaderless.join(', ')}: no leader tells the end, so the group begins at the first message`,
        );
      return ends.map((end, partition) => ({ topic, partition, offset: end?.end ?? 0n }));
    }
  }
}
