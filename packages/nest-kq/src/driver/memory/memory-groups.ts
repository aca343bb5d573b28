import { KqError } from '../../errors.js';
import { assignPartitions, keyOf } from '../assignment.js';
import type { GroupOffset, PartitionOffset, TopicPartition } from '../message.js';
import type { MemoryLog } from './memory-log.js';

/** What a group knows of a member. */
export interface Joined {
  readonly id: string;
  readonly topics: readonly string[];
  /** Resolves once its partitions may go to others. Called again before `assigned`, it gives the same promise. */
  rejoining(): Promise<void>;
  /** From now on its partitions are not its own. */
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
  /** With what each has; undefined before its first assignment. */
  private readonly members = new Map<Joined, readonly TopicPartition[] | undefined>();
  /** Resolves once all that are in the group have their partitions; undefined: they have. */
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

  /** As an operator does it, while nobody is in the group. */
  set(topic: string, offsets: readonly PartitionOffset[]): void {
    if (this.members.size > 0) {
      const members = `${this.members.size} member${this.members.size === 1 ? '' : 's'}`;
      throw new KqError('KQ_GROUP_BUSY', `the group ${this.name} has ${members}: expected none`);
    }
    this.store(offsets.map(({ partition, offset }) => ({ topic, partition, offset })));
  }

  /** Where a group that has committed nothing in a topic begins at its end: see `MemberOptions.from`. */
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

  /** A topic that it lacked is there. */
  refresh(): void {
    void this.share();
  }

  leave(member: Joined): void {
    if (this.members.delete(member)) void this.share();
  }

  /** Who joins or leaves meanwhile has the assignment made once more. */
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
      if (!this.members.has(member)) continue; // it left within the call of another
      const continued = this.members.get(member) !== undefined;
      const share = shares.get(member.id) ?? [];
      this.members.set(member, share);
      member.assigned(share, continued);
    }
  }
}
