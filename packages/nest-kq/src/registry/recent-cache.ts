/** A bounded cache of recent loads, by key; concurrent callers share one load. */
import { systemClock } from 'nest-handlers/time';

/** How long a failed load is cached, in ms, so that thousands of messages don't cause thousands of requests. */
const FAILURE_KEPT_MS = 1_000;

interface Entry<V> {
  value?: V;
  loading?: Promise<V>;
  /** Clock time. */
  failedAt?: number;
}

export class RecentCache<K, V> {
  private readonly entries = new Map<K, Entry<V>>();

  constructor(private readonly most: number) {}

  /** Returns the value, or a promise if it must be loaded first. Rejects like `load`. */
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
