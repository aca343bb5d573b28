import { hostname } from 'node:os';
import type { DeadLetter } from '../api/dead-letter.js';
import type { Outcome } from '../api/outcome.js';
import { DqError, factOf, toError } from '../errors.js';
import type { EventLog } from './event-log.js';
import { ForeignJson, type Shape } from '../ledger/foreign-json.js';
import { withinLimit } from '../time/call-limit.js';
import type { Clock } from 'nest-handlers/time';
import { CLUSTER_EVENT_NAMES, type DqClusterEventName } from '../events/events.js';
import type { EventHub } from '../events/event-hub.js';

/** Events that wait to be appended. Further ones are dropped. */
const MOST_WAITING = 10_000;
/** Events per call. */
const TOGETHER = 100;
/** How long a close waits for the last events to be appended. */
const LAST_CALL_MS = 500;
/** Characters of an error that are passed on. */
const ERROR_LIMIT = 300;
/** At most one warning of dropped events in this time. */
const WARN_EVERY_MS = 60_000;

interface ClusterEventsParts {
  readonly events: EventHub;
  readonly log: EventLog;
  readonly clock: Clock;
  readonly warn: (message: string) => void;
  readonly keepErrors: boolean;
  /** Whether to leave out keys and errors, because copies hide them too. */
  readonly isSecret: boolean;
}

/** Times are ledger time in ms. */
interface Entry {
  readonly name: DqClusterEventName;
  readonly at: number;
  readonly event: object;
}

/** An event of a job, as this process reports it. */
interface Told {
  readonly key?: string | undefined;
  readonly [name: string]: unknown;
}

const TIMES = ['dueAt', 'expiredAt'] as const;

/**
 * Passes the events `completed`, `dead` and `expired` of this process on to all others, and emits theirs and its own with
 * `scope: 'cluster'`: at most once each, since an append without an answer isn't repeated. No job waits for it.
 */
export class ClusterEvents {
  private waiting: string[] = [];
  private underWay: Promise<void> | undefined;
  private stopFollowing: (() => void) | undefined;
  private droppedSoFar = 0;
  private untold = 0;
  private warnedAt = -Infinity;
  private isStarted = false;
  private closed = false;
  private readonly foreign: ForeignJson;

  constructor(private readonly parts: ClusterEventsParts) {
    this.foreign = new ForeignJson(parts.warn);
  }

  /** Number of events that this process couldn't pass on, or knows that it missed. */
  get dropped(): number {
    return this.droppedSoFar;
  }

  /** Idempotent. */
  start(): void {
    if (this.isStarted || this.closed) return;
    this.isStarted = true;
    const { events, log } = this.parts;
    events.on('completed').subscribe(({ job, took, result }) => {
      const again = (result as Outcome | undefined | null)?.['~outcome'] === 'again';
      this.note('completed', { ...jobOf(job), took: Math.max(0, Math.round(took)), ...(again && { again }) });
    });
    events.on('dead').subscribe((event) => {
      const { why, error } = event.letter;
      this.note('dead', { ...jobOf(event.letter), why, ...(error && { error: this.errorOf(error) }) });
    });
    events
      .on('expired')
      .subscribe(({ id, tube, key, dueAt, expiredAt }) =>
        this.note('expired', { id, tube, key, dueAt: dueAt.getTime(), expiredAt: expiredAt.getTime() }),
      );
    const followed = {
      appended: (entries: readonly string[]) => entries.forEach((entry) => this.emit(entry)),
      missed: (count: number) => this.drop(count, 'events of other processes were missed'),
    };
    events.whenClusterIsHeard(() => {
      if (!this.closed) this.stopFollowing ??= log.follow(followed);
    });
  }

  /** Appends the rest, as far as that can be done quickly. Idempotent. */
  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    this.stopFollowing?.();
    if (this.underWay)
      await withinLimit(this.parts.clock, LAST_CALL_MS, this.underWay).catch(() => undefined);
  }

  private errorOf({ name, message }: NonNullable<DeadLetter['error']>) {
    const { keepErrors, isSecret } = this.parts;
    return keepErrors && !isSecret ? { name: cut(name), message: cut(message) } : undefined;
  }

  private note(name: DqClusterEventName, event: Told): void {
    if (this.closed) return;
    if (this.waiting.length >= MOST_WAITING) return this.drop(1, 'events could not be passed on fast enough');
    const { isSecret, log } = this.parts;
    const { key, ...rest } = event;
    const shown = isSecret || key === undefined ? rest : { ...rest, key };
    const entry: Entry = { name, at: Math.floor(log.now()), event: { ...shown, process: THIS_PROCESS } };
    this.waiting.push(JSON.stringify(entry));
    this.underWay ??= this.appendAll().finally(() => (this.underWay = undefined));
  }

  /** Never rejects. */
  private async appendAll(): Promise<void> {
    await Promise.resolve(); // all that end in the same turn share a call
    while (this.waiting.length > 0) {
      const some = this.waiting.splice(0, TOGETHER);
      try {
        await this.parts.log.append(some);
      } catch (thrown) {
        const why = thrown instanceof DqError ? factOf(thrown) : toError(thrown).message;
        this.drop(some.length, `events could not be passed on: ${why}`); // repeated, they might arrive twice
      }
    }
  }

  private emit(text: string): void {
    const entry = this.foreign.read<Entry>('an event', text, ENTRY);
    if (!entry || !CLUSTER_EVENT_NAMES.includes(entry.name)) return;
    const { events } = this.parts;
    const event: Record<string, unknown> = { ...entry.event, at: new Date(entry.at) };
    for (const time of TIMES) if (typeof event[time] === 'number') event[time] = new Date(event[time]);
    events.emit(`cluster:${entry.name}`, event as never);
  }

  /** @param count 0 if it isn't known. */
  private drop(count: number, what: string): void {
    this.droppedSoFar += Math.max(1, count);
    this.untold += Math.max(1, count);
    const { clock, warn } = this.parts;
    if (clock.now() - this.warnedAt < WARN_EVERY_MS) return;
    this.warnedAt = clock.now();
    warn(count === 0 ? `an unknown number of ${what}: Redis has lost its data` : `${this.untold} ${what}`);
    this.untold = 0;
  }
}

const THIS_PROCESS = `${hostname()}:${process.pid}`;
const ENTRY: Shape = {
  fields: {
    name: 'text',
    at: 'number',
    event: { fields: { id: 'text', tube: 'text', process: 'text', key: 'text?' } },
  },
};

function jobOf({
  id,
  tube,
  key,
  attempt,
  dueAt,
}: Pick<DeadLetter, 'id' | 'tube' | 'key' | 'attempt' | 'dueAt'>) {
  return { id, tube, key, attempt, dueAt: dueAt.getTime() };
}

/** Half a surrogate pair, at the cut or in the text, would make the JSON invalid in Lua. */
function cut(text: string): string {
  return text.slice(0, ERROR_LIMIT).replace(/\p{Surrogate}/gu, '\uFFFD');
}
