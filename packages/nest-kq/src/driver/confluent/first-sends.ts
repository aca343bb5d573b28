import { KqError } from '../../errors.js';
import type { Sent } from '../driver.js';

/**
 * Holds back everything after a producer's first message in a partition until that one is stored. From a producer that has
 * stored nothing there, a broker accepts any sequence number: on a new topic, it may refuse the first request because it doesn't
 * lead the partition yet, and accept the second, which is in flight by then. librdkafka concludes that the first was stored,
 * too, and drops it.
 */
export class FirstSends {
  /** Partitions in which a message is stored. */
  private readonly begun = new Set<string>();
  /** Messages waiting for the first one, by partition. */
  private readonly waiting = new Map<string, ((isFirst: boolean) => void)[]>();

  /** Hands over immediately or in turn, in the order of the calls for a partition. `hand` never rejects. */
  send(place: string, hand: () => Promise<Sent>): Promise<Sent> {
    if (this.begun.has(place)) return hand();
    const waiting = this.waiting.get(place);
    if (!waiting) {
      this.waiting.set(place, []);
      return this.first(place, hand);
    }
    return new Promise((resolve) => {
      waiting.push((isFirst) => resolve(isFirst ? this.first(place, hand) : hand()));
    });
  }

  private async first(place: string, hand: () => Promise<Sent>): Promise<Sent> {
    const sent = await hand();
    const waiting = this.waiting.get(place)!;
    const isStored = !(sent instanceof KqError);
    if (isStored) this.begun.add(place);
    // After one that waited in vain for its brokers, the others don't wait one by one.
    if (isStored || sent.code === 'KQ_AWAY' || waiting.length === 0) {
      this.waiting.delete(place);
      for (const next of waiting) next(false);
    } else waiting.shift()!(true);
    return sent;
  }
}
