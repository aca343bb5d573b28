/** Unhandled messages of a group in the partitions of this process. */
import type { LogAdmin, PartitionEnds } from '../driver/driver.js';
import { keyOf } from '../driver/assignment.js';
import { toError } from '../errors.js';
import type { Progress } from '../consumer/group-consumer.js';
import type { Clock, Timer } from 'nest-handlers/time';

/** Time limit for the brokers. */
const PATIENCE_MS = 1_000;

export interface Behind {
  /** By `topic/partition`, in order; null if unknown, for example without a leader. */
  readonly partitions: Readonly<Record<string, number | null>>;
  /** Why a whole topic is unknown. */
  readonly unknown?: string;
}

/** Takes at most a second. Never rejects. */
export async function lagOf(
  admin: LogAdmin,
  clock: Clock,
  group: string,
  progress: readonly Progress[],
): Promise<Behind> {
  const partitions: Record<string, number | null> = {};
  for (const place of progress.toSorted(byPlace)) partitions[keyOf(place)] = null;
  const topics = new Set(progress.map(({ topic }) => topic));
  const reasons = await Promise.all(
    Array.from(topics, async (topic) => {
      const places = progress.filter((each) => each.topic === topic);
      try {
        // Needed only before the first message.
        const unseen = places.some(({ watermark }) => watermark === undefined);
        const asked = Promise.all([admin.endsOfLed(topic), unseen ? admin.committed(group, topic) : []]);
        const [ends, committed] = await within(clock, asked);
        for (const place of places) {
          const next = committed.find(({ partition }) => partition === place.partition)?.offset;
          partitions[keyOf(place)] = behind(place.watermark ?? next, ends[place.partition]);
        }
        return undefined;
      } catch (error) {
        return toError(error).message;
      }
    }),
  );
  const unknown = reasons.find((reason) => reason !== undefined);
  return { partitions, ...(unknown !== undefined && { unknown }) };
}

/** Returns the number of offsets from the next one to the end. */
export function behind(next: bigint | undefined, ends: PartitionEnds | undefined): number | null {
  if (!ends) return null;
  const { first, end } = ends;
  const from = next === undefined || next < first ? first : next;
  return from >= end ? 0 : Number(end - from);
}

async function within<T>(clock: Clock, answer: Promise<T>): Promise<T> {
  let timer: Timer | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = clock.after(PATIENCE_MS, () => reject(new Error(`no broker answered within ${PATIENCE_MS} ms`)));
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    timer?.cancel();
  }
}

function byPlace(a: { topic: string; partition: number }, b: { topic: string; partition: number }): number {
  if (a.topic !== b.topic) return a.topic < b.topic ? -1 : 1;
  return a.partition - b.partition;
}
