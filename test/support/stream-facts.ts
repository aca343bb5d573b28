// Lines printed by members of a group, and whether the group keeps the promises: nothing lost, each key in order, repeats explained.
import { startProgram, type Program } from './program.js';

interface Place {
  readonly topic: string;
  readonly partition: number;
}

type Fact = { readonly by: string; readonly at: number } & (
  | ({ readonly what: 'start' | 'end'; readonly offset: string; readonly key: string } & Place)
  | { readonly what: 'rebalanced'; readonly assigned: readonly Place[]; readonly lost: readonly Place[] }
);

/** One run of a message. */
export interface StreamRun extends Place {
  readonly by: string;
  /** How often its process had got the partition by then. */
  readonly stay: number;
  readonly key: string;
  readonly offset: number;
  readonly startedAt: number;
  /** Undefined if its process died before. */
  endedAt: number | undefined;
}

export function nameOf({ topic, partition }: Place): string {
  return `${topic}/${partition}`;
}

/** All members of one group, each a process. */
export class StreamGroup {
  readonly runs: StreamRun[] = [];
  /** By process, what it has now. */
  private readonly held = new Map<string, Set<string>>();
  private readonly stays = new Map<string, number>();
  private readonly open = new Map<string, StreamRun>();
  private readonly handled = new Set<string>();

  constructor(
    private readonly options: {
      readonly brokers: readonly string[];
      readonly topics: string;
      readonly took: number;
    },
  ) {}

  start(name: string): Program {
    const argument = JSON.stringify({ ...this.options, name });
    return startProgram('support/stream-process.mjs', argument, (line) =>
      this.take(JSON.parse(line) as Fact),
    );
  }

  /** Partitions by name. */
  partitionsOf(name: string): ReadonlySet<string> {
    return this.held.get(name) ?? new Set();
  }

  /** How often the process has got the partition. */
  stay(name: string, partition: string): number {
    return this.stays.get(`${name} ${partition}`) ?? 0;
  }

  /** The process has ended, whatever it printed last. */
  gone(name: string): void {
    this.held.delete(name);
  }

  /** How many messages have been handled, each counted once. */
  get count(): number {
    return this.handled.size;
  }

  /** The runs of messages that had runs before. */
  get repeats(): { readonly run: StreamRun; readonly before: readonly StreamRun[] }[] {
    const seen = new Map<string, StreamRun[]>();
    return inTime(this.runs).flatMap((run) => {
      const message = messageOf(run);
      const before = seen.get(message) ?? [];
      seen.set(message, [...before, run]);
      return before.length > 0 ? [{ run, before }] : [];
    });
  }

  /** Runs of a key that started before each earlier message of it was handled; what is there must be ordered by offset. */
  get outOfOrder(): readonly string[] {
    const sent = new Map<string, Set<number>>();
    for (const { key, offset } of this.runs) sent.set(key, (sent.get(key) ?? new Set()).add(offset));
    const ends = new Map<string, number>();
    for (const run of this.runs) {
      const end = Math.min(run.endedAt ?? Infinity, ends.get(messageOf(run)) ?? Infinity);
      ends.set(messageOf(run), end);
    }
    return [...sent].flatMap(([key, offsets]) => {
      const order = [...offsets].sort((a, b) => a - b);
      const previous = new Map(order.map((offset, index) => [offset, order[index - 1]]));
      return this.runs
        .filter((run) => run.key === key)
        .flatMap((run) => {
          const offset = previous.get(run.offset);
          if (offset === undefined || ends.get(messageOf({ ...run, offset }))! <= run.startedAt) return [];
          return [`${messageOf(run)} of ${key} by ${run.by} before ${offset} was handled`];
        });
    });
  }

  private take(fact: Fact): void {
    if (fact.what === 'rebalanced') return this.share(fact.by, fact.assigned, fact.lost);
    const { by, at, topic, partition, key } = fact;
    const offset = Number(fact.offset);
    const message = messageOf({ topic, partition, offset });
    if (fact.what === 'start') {
      const stay = this.stay(by, nameOf(fact));
      const run = { by, stay, topic, partition, key, offset, startedAt: at, endedAt: undefined };
      this.runs.push(run);
      this.open.set(`${by} ${message}`, run);
      return;
    }
    this.open.get(`${by} ${message}`)!.endedAt = at;
    this.handled.add(message);
  }

  private share(by: string, assigned: readonly Place[], lost: readonly Place[]): void {
    const held = this.held.get(by) ?? new Set();
    this.held.set(by, held);
    for (const place of lost) held.delete(nameOf(place));
    for (const place of assigned) {
      held.add(nameOf(place));
      this.stays.set(`${by} ${nameOf(place)}`, this.stay(by, nameOf(place)) + 1);
    }
  }
}

function messageOf({ topic, partition, offset }: Place & { readonly offset: number }): string {
  return `${nameOf({ topic, partition })}/${offset}`;
}

function inTime(runs: readonly StreamRun[]): readonly StreamRun[] {
  return runs.toSorted((a, b) => a.startedAt - b.startedAt);
}
