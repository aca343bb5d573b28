import { randomUUID } from 'node:crypto';
import { DqError, factOf, shorten, show, TEXT_LIMIT, toError } from '../errors.js';
import type { EventHub } from '../events/event-hub.js';
import type { OperatorAct, ActTarget } from '../events/events.js';
import { MAX_ACTS, type ActRecord, type Acts } from './acts.js';
import { withinLimit } from '../time/call-limit.js';
import type { Clock, Timer } from 'nest-handlers/time';

/** Pause before storing failed acts again. */
const RETRY_AFTER_MS = 5_000;
/** How long a close waits for the last acts to be stored. */
const LAST_CALL_MS = 1_000;
/** Acts per call. */
const TOGETHER = 100;

interface ActWriterParts {
  readonly events: EventHub;
  readonly acts: Acts;
  readonly clock: Clock;
  readonly warn: (message: string) => void;
  /** Whether to leave out keys, because copies hide them too. The job's id identifies it. */
  readonly hidesKeys: boolean;
}

/** Stores each act that this process emits. No act waits for it, or fails because of it: while the ledger is away, acts are queued here. */
export class ActWriter {
  /** Oldest first. */
  private readonly waiting = new Set<string>();
  private underWay: Promise<void> | undefined;
  private timer: Timer | undefined;
  private failed = false;
  private closed = false;

  constructor(private readonly parts: ActWriterParts) {
    parts.events.listen('operated', (act) => this.note(act), 'the store of acts');
  }

  /** Number of acts not stored yet; after `close`, those that were lost. */
  get unstored(): number {
    return this.waiting.size;
  }

  /** Stores the rest, as far as that can be done quickly. Idempotent. */
  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    const { clock, warn } = this.parts;
    if (this.unstored > 0) await withinLimit(clock, LAST_CALL_MS, this.store()).catch(() => undefined); // logged below
    if (this.unstored > 0) warn(`the last ${this.unstored} operator actions were not stored`);
  }

  private note(act: OperatorAct): void {
    this.waiting.add(JSON.stringify(recordOf(act, this.parts)));
    for (const oldest of this.waiting) {
      if (this.waiting.size <= MAX_ACTS) break; // more would be dropped anyway
      this.waiting.delete(oldest);
    }
    void this.store();
  }

  private store(): Promise<void> {
    this.underWay ??= this.storeAll().finally(() => (this.underWay = undefined));
    return this.underWay;
  }

  /** Never rejects. */
  private async storeAll(): Promise<void> {
    const { acts, clock, warn } = this.parts;
    this.timer?.cancel();
    try {
      while (this.waiting.size > 0) {
        const some = [...this.waiting].slice(0, TOGETHER);
        await acts.add(some);
        for (const act of some) this.waiting.delete(act);
      }
      this.failed = false;
    } catch (thrown) {
      const fact = thrown instanceof DqError ? factOf(thrown) : toError(thrown).message;
      if (!this.failed) warn(`storing operator actions failed; retrying: ${fact}`);
      this.failed = true;
      if (!this.closed) this.timer = clock.after(RETRY_AFTER_MS, () => void this.store());
    }
  }
}

function recordOf(
  { by, act, on, count, error }: OperatorAct,
  { acts, hidesKeys }: ActWriterParts,
): ActRecord {
  const { key: _hidden, ...rest } = on;
  const at = Math.floor(acts.now());
  const record = { id: randomUUID(), at, by, act, on: inJson(hidesKeys ? rest : on), count };
  if (!error) return record;
  const code = error instanceof DqError ? error.code : error.name;
  return { ...record, error: { code, message: shorten(error.message) } };
}

/** Makes it fit for JSON: an application may pass anything to an act, of any length. */
function inJson(on: ActTarget): ActTarget {
  const { filter, change, ...rest } = on;
  try {
    if (JSON.stringify({ filter, change }).length <= TEXT_LIMIT) return on;
  } catch {
    // A cycle, or a number JSON can't represent: store a string instead.
  }
  return { ...rest, change: show({ filter, change }) };
}
