import { KqError } from '../../errors.js';
import { assignPartitions, keyOf } from '../assignment.js';
import type { GroupOffset, PartitionOffset, TopicPartition } from '../message.js';
import type { MemoryLog } from './memory-log.js';

/** A member as its group knows it. */
export interface Joined {
  readonly id: string;
  readonly topics: readonly string[];
  /** Resolves once its partitions may go to others. Returns the same promise if called again before `assigned`. */
  rejoining(): Promise<void>;
  /** Its partitions are no longer its own. */
  ended(): void;
  /** @param continued It was a member before. */
  assigned(assignment: readonly TopicPartition[], continued: boolean): void;
}

export class MemoryGroups {
  private readonly groups = new Map<string, MemoryGroup>();

  constructor(private readonly log: MemoryLog) {}

  group(name: string): MemoryGroup {
    const group = this.groups.get(name) ?? new MemoryGroup(name, this.log);
    this.groups.set(name, group);
    return group;
  }
}

export class MemoryGroup {
  private readonly offsets = new Map<string, GroupOffset>();
  /** Members with their partitions; undefined before the first assignment. */
  private readonly members = new Map<Joined, readonly TopicPartition[] | undefined>();
  /** Resolves once all members have their partitions; undefined outside of a rebalance. */
  private sharing: Promise<void> | undefined;
  private changed = false;

  constructor(
    private readonly name: string,
    private readonly log: MemoryLog,
  ) {}

  committed(place: TopicPartition): bigint | undefined {
    return this.offsets.get(keyOf(place))?.offset;
  }

  store(offsets: readonly GroupOffset[]): void {
    for (const { topic, partition, offset } of offsets)
      this.offsets.set(keyOf({ topic, partition }), { topic, partition, offset });
  }

  /** Sets offsets for an operator; the group must be empty. */
  set(topic: string, offsets: readonly PartitionOffset[]): void {
    if (this.members.size > 0) {
      const members = `${this.members.size} member${this.members.size === 1 ? '' : 's'}`;
      throw new KqError('KQ_GROUP_BUSY', `the group ${this.name} has ${members}: expected none`);
    }
    this.store(offsets.map(({ partition, offset }) => ({ topic, partition, offset })));
  }

  /** Starts a group that has committed nothing in a topic at its end: see `MemberOptions.from`. */
  beginAtEnd(topic: string): void {
    const logs = this.log.partitions(topic);
    if (logs.some(({ partition }) => this.committed({ topic, partition }) !== undefined)) return;
    this.store(logs.map(({ partition, readable }) => ({ topic, partition, offset: readable })));
  }

  /** Resolves once it has its partitions. */
  join(member: Joined): Promise<void> {
    this.members.set(member, undefined);
    return this.share();
  }

  /** A topic it lacked now exists. */
  refresh(): void {
    void this.share();
  }

  leave(member: Joined): void {
    if (this.members.delete(member)) void this.share();
  }

  /** Rebalances; members that join or leave meanwhile cause another round. */
  private share(): Promise<void> {
    this.changed = true;
    return (this.sharing ??= this.shareOut());
  }

  private async shareOut(): Promise<void> {
    while (this.changed) {
      this.changed = false;
      await Promise.all(Array.from(this.members.keys(), (member) => member.rejoining()));
      if (!this.changed) this.assign();
    }
    this.sharing = undefined;
  }

  private assign(): void {
    const members = [...this.members.keys()];
    for (const member of members) member.ended();
    const topics = new Set(members.flatMap((member) => member.topics));
    const there = [...topics].filter((topic) => this.log.has(topic));
    const counts = new Map(there.map((topic) => [topic, this.log.partitions(topic).length]));
    const claims = members.map((member) => ({
      id: member.id,
      topics: member.topics,
      owned: this.members.get(member) ?? [],
    }));
    const shares = assignPartitions(counts, claims);
    for (const member of members) {
      if (!this.members.has(member)) continue; // it left during another member's call
      const continued = this.members.get(member) !== undefined;
      const share = shares.get(member.id) ?? [];
      this.members.set(member, share);
      member.assigned(share, continued);
    }
  }
}
