import type { StoredTube } from '../api/tube.js';
import { withinLimit } from '../time/call-limit.js';
import type { Ledger } from '../ledger/ledger.js';
import type { Clock } from 'nest-handlers/time';

/** Milliseconds. How long a first add waits for ledger time. */
const TIME_LIMIT = 500;
/** Tubes. With more, all are asked for once more, and are answered at once. */
const MOST_KNOWN = 1_000;

/** Remembers for which tubes ledger time was read. The first call of each tube waits a little for that. */
export class TubeTimes {
  private readonly known = new Set<StoredTube>();
  private readonly asked = new Map<StoredTube, Promise<void>>();

  constructor(
    private readonly ledger: Ledger,
    private readonly clock: Clock,
  ) {}

  /** Undefined: no wait is needed. */
  learning(tube: StoredTube): Promise<void> | undefined {
    return this.known.has(tube) ? undefined : (this.asked.get(tube) ?? this.learn(tube));
  }

  private learn(tube: StoredTube): Promise<void> {
    const go = () => {
      if (this.known.size >= MOST_KNOWN) this.known.clear();
      this.known.add(tube);
      this.asked.delete(tube);
    };
    // If it was not read by then, the machine's clock must serve.
    const learnt = withinLimit(this.clock, TIME_LIMIT, this.ledger.tube(tube).readTime()).then(go, go);
    this.asked.set(tube, learnt);
    return learnt;
  }
}
