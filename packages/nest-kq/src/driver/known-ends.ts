import { KqError } from '../errors.js';
import type { LogAdmin, PartitionEnds } from './driver.js';

/** The ends of the partitions of a topic, as far as they can be known now. */
export interface KnownEnds {
  readonly ends: readonly PartitionEnds[];
  /** Partitions without a leader, whose ends are unknown. */
  readonly leaderless: readonly number[];
}

/** Resolves without waiting for leaders. Rejects like the admin. */
export async function knownEnds(admin: LogAdmin, topic: string): Promise<KnownEnds> {
  const found = await admin.endsOfLed(topic);
  return {
    ends: found.filter((each) => each !== undefined),
    leaderless: found.flatMap((each, partition) => (each ? [] : [partition])),
  };
}

/** Formats partitions like `orders/0, orders/1`. */
export function placesOf(topic: string, partitions: readonly number[]): string {
  return partitions.map((partition) => `${topic}/${partition}`).join(', ');
}

/** Formats a fact like `orders/0 has no leader`. */
export function leaderlessFact(topic: string, partitions: readonly number[]): string {
  return `${placesOf(topic, partitions)} ${partitions.length === 1 ? 'has' : 'have'} no leader`;
}

/** The error of partitions without a leader: nothing can be read or stored there now. */
export class Leaderless extends KqError {
  constructor(topic: string, partitions: readonly number[]) {
    super('KQ_AWAY', leaderlessFact(topic, partitions));
  }
}
