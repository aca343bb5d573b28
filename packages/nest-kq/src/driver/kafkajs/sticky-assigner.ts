/** Assigns a group's partitions so that most stay where they are, and reports each join. */
import kafkajs from 'kafkajs';
import type { Cluster, PartitionAssigner } from 'kafkajs';
import { assignPartitions } from '../assignment.js';
import type { TopicPartition } from '../message.js';

const NAME = 'nest-kq-sticky';
const VERSION = 0;

export interface Joining {
  /** Returns what the member has had so far. */
  owned(): readonly TopicPartition[];
  /** The member is about to join. kafkajs has no other signal for it. */
  joining(): void;
  /** A topic of another member that this one can't see. */
  unseen(topic: string, error: unknown): void;
}

export function stickyAssigner(member: Joining): PartitionAssigner {
  const { MemberMetadata, MemberAssignment } = kafkajs.AssignerProtocol;
  return ({ cluster }) => ({
    name: NAME,
    version: VERSION,
    protocol({ topics }) {
      member.joining();
      const userData = Buffer.from(JSON.stringify(member.owned()));
      return { name: NAME, metadata: MemberMetadata.encode({ version: VERSION, topics, userData }) };
    },
    /** kafkajs itself would give each member the topics of the leader, whatever it has subscribed to. */
    async assign({ members }) {
      const claims = members.map(({ memberId, memberMetadata }) => {
        const decoded = MemberMetadata.decode(memberMetadata);
        return { id: memberId, topics: decoded?.topics ?? [], owned: ownedIn(decoded?.userData) };
      });
      const topics = new Set(claims.flatMap((claim) => claim.topics));
      const shares = assignPartitions(await countsOf(cluster, topics, member), claims);
      return claims.map(({ id }) => ({
        memberId: id,
        memberAssignment: MemberAssignment.encode({
          version: VERSION,
          assignment: byTopic(shares.get(id) ?? []),
          userData: Buffer.alloc(0),
        }),
      }));
    },
  });
}

function byTopic(partitions: readonly TopicPartition[]): Record<string, number[]> {
  const found = Object.create(null) as Record<string, number[]>; // a topic may be named `constructor`
  for (const { topic, partition } of partitions) (found[topic] ??= []).push(partition);
  return found;
}

async function countsOf(
  cluster: Cluster,
  topics: ReadonlySet<string>,
  member: Joining,
): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for (const topic of topics) {
    try {
      await cluster.addMultipleTargetTopics([topic]);
      counts.set(topic, cluster.findTopicPartitionMetadata(topic).length);
    } catch (error) {
      member.unseen(topic, error);
    }
  }
  return counts;
}

/** Returns the partitions a member encoded in `protocol`. If they are unreadable, its partitions merely move. */
function ownedIn(userData: Buffer | undefined): TopicPartition[] {
  const owned: TopicPartition[] = [];
  let read: unknown;
  try {
    read = JSON.parse(userData?.toString() || '[]');
  } catch {
    return owned; // from another version of this library
  }
  if (!Array.isArray(read)) return owned;
  for (const each of read as unknown[])
    if (typeof each === 'object' && each !== null && 'topic' in each && 'partition' in each)
      if (typeof each.topic === 'string' && typeof each.partition === 'number')
        owned.push({ topic: each.topic, partition: each.partition });
  return owned;
}
