/** What was loaded lately, by key: at most so many, and two who ask at once wait for one load. */
import { systemClock } from 'nest-handlers/time';

/** How long a load that failed answers whoever asks, so that thousands of messages make no thousands of requests. */
const FAILURE_KEPT_MS = 1_000;

interface Entry<V> {
  value?: V;
  loading?: Promise<V>;
  /** By the clock. */
  failedAt?: number;
}

export class RecentCache<K, V> {
  private readonly entries = new Map<K, Entry<V>>();

  constructor(private readonly most: number) {}

  /** At once where it is here. Rejects with what `load` rejects with. */
  get(key: K, load: () => Promise<V>): V | Promise<V> {
    const known = this.entries.get(key);
    if (known?.value !== undefined) return known.value;
    const { loading, failedAt = Infinity } = known ?? {};
    if (loading && systemClock.now() < failedAt + FAILURE_KEPT_MS) return loading;
    return this.load(key, load);
  }

  private load(key: K, load: () => Promise<V>): Promise<V> {
    const entry: Entry<V> = { loading: load() };
    this.entries.delete(key);
    this.entries.set(key, entry);
    if (this.entries.size > this.most) this.entries.delete(this.entries.keys().next().value!);
    entry.loading!.then(
      (value) => {
        entry.value = value;
        delete entry.loading;
      },
      () => {
        entry.failedAt = systemClock.now();
      },
    );
    return entry.loading!;
  }
}
