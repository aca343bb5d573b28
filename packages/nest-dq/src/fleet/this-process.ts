import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Cluster } from '../cluster/cluster.js';
import { changesAt, type LimitChanges } from './limit-changes.js';
import type {
  LongRun,
  Member,
  Presence,
  PresenceNews,
  ProcessRecord,
  ProcessSettings,
  TubeLoad,
} from './presence.js';
import type { Clock, Timer } from 'nest-handlers/time';
import {
  sharedSettings,
  type UnequalFacts,
  unequalSettings,
  type UnequalSetting,
} from './unequal-settings.js';
import { VERSION } from './version.js';

const MAX_TUBES = 1_000;
/** Limit over all tubes. */
const MAX_LONG_RUNS = 1_000;
/** Interval between reads of drained nodes while only watching. */
const BETWEEN_LOOKS_MS = 2_000;
/** Max delay of a timer, in ms. */
const LONGEST_TIMER_MS = 3_600_000;
/** How long a node may be unreachable before this process yields. */
const MAX_DOWN_MS = 15_000;

export interface ThisProcessParts {
  readonly presence: Presence;
  readonly cluster: Cluster;
  readonly clock: Clock;
  readonly settings: ProcessSettings & { readonly consume: boolean };
  /** The name of the cluster. */
  readonly name?: string;
  /** Returns the load of each tube with a handler here. */
  readonly load: () => readonly TubeLoad[];
  /** Job counts: `lost` and `unlisted` since the start, `toRepair` now. */
  readonly counts: () => { readonly lost: number; readonly unlisted: number; readonly toRepair: number };
  /** Called with the changed limits of tubes, when they may have changed. @default nothing to change */
  readonly relimit?: (changes: LimitChanges) => void;
  /** Called once for each setting that differs in another process. */
  readonly warn: (message: string) => void;
  /** Called each time this process becomes the leader. */
  readonly wasElected?: () => void;
  /** Whether it failed to do the leader's work. @default false */
  readonly hasGivenUp?: () => boolean;
}

/** This process among the others of its prefix: announces it to them, and learns from them. */
export class ThisProcess implements Member {
  readonly id: string = randomUUID();
  readonly settings: string;
  private readonly joinedAt: number;
  private leave: (() => Promise<void>) | undefined;
  private nextLook: Timer | undefined;
  /** When the next change of limits ends. */
  private limitsEnd: Timer | undefined;
  private electedUntil = 0;
  /** Time on the local clock when all nodes were last reachable. */
  private reachedAllAt: number;
  /** The others' settings from which `unequal` was computed. */
  private compared = '';
  private unequal: readonly UnequalSetting[] = [];
  private readonly warned = new Set<string>();
  private closed = false;

  constructor(private readonly parts: ThisProcessParts) {
    this.joinedAt = this.reachedAllAt = parts.clock.now();
    this.settings = sharedSettings(this.describe());
  }

  /**
   * Whether this process is the leader. At most one is: another is elected only after this has become false here, though work
   * started before may still be in progress. If the leader dies, another follows within 20 s.
   */
  get elected(): boolean {
    return !this.closed && this.parts.clock.now() < this.electedUntil;
  }

  /** For people: each setting that should be the same but isn't. */
  get unequalSettings(): string[] {
    return this.unequal.map(({ text }) => text);
  }

  /** The same in parts. */
  get unequalFacts(): readonly UnequalFacts[] {
    return this.unequal.map(({ facts }) => facts);
  }

  /** It failed to do the leader's work, or hasn't reached a node for a while, so it wouldn't see what is missing there. */
  yields(): boolean {
    const { cluster, clock, hasGivenUp } = this.parts;
    if (cluster.nodes.every(({ up }) => up)) this.reachedAllAt = clock.now();
    return clock.now() - this.reachedAllAt > MAX_DOWN_MS || hasGivenUp?.() === true;
  }

  /** Makes it visible to the others. Idempotent; does nothing after `close`. */
  start(): void {
    if (!this.closed) this.leave ??= this.parts.presence.join(this);
  }

  /** Makes it invisible to the others, so that one of them can be elected. Idempotent. */
  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    this.nextLook?.cancel();
    this.limitsEnd?.cancel();
    await this.leave?.();
  }

  /**
   * Used instead of `start` for a process nobody should see: learns which nodes are drained, and keeps learning it. Resolves
   * after the first read. Never rejects.
   */
  async watch(): Promise<void> {
    const { presence, clock } = this.parts;
    // While the ledger is away, the last known state counts.
    const drained = await presence.drainedNodes().catch(() => undefined);
    if (this.closed) return;
    if (drained) this.mark(drained);
    this.nextLook = clock.after(BETWEEN_LOOKS_MS, () => void this.watch());
  }

  describe(): ProcessRecord {
    const { cluster, clock, settings, name, load, counts } = this.parts;
    const { lost, unlisted, toRepair } = counts();
    const { prefix, replicas, minWritten, lease, doneTtl, staleAfter, consume } = settings;
    const away = cluster.nodes.flatMap(({ endpoint, since }) =>
      since === undefined ? [] : [[endpoint, Math.max(0, Math.round(clock.wall() - since))] as const],
    );
    return {
      id: this.id,
      host: hostname(),
      pid: process.pid,
      version: VERSION,
      nodeVersion: process.version,
      ...(name !== undefined && { cluster: name }),
      upFor: Math.round(clock.now() - this.joinedAt),
      consumes: consume,
      nodes: Object.fromEntries(cluster.nodes.map(({ endpoint, reason }) => [endpoint, reason === 'up'])),
      ...(away.length > 0 && { awayFor: Object.fromEntries(away) }),
      settings: { prefix, replicas, minWritten, lease, doneTtl, staleAfter },
      ...(lost > 0 && { lost }),
      ...(unlisted > 0 && { unlisted }),
      ...(toRepair > 0 && { toRepair }),
      tubes: bounded(load()),
    };
  }

  learn({ electedUntil, drained, limits, now, otherSettings }: PresenceNews): void {
    const before = this.elected;
    this.electedUntil = electedUntil;
    this.mark(drained);
    this.relimit(limits, now);
    if (this.elected && !before) this.parts.wasElected?.();
    const others = otherSettings.toSorted().join('\n');
    if (others === this.compared) return;
    this.compared = others;
    if (others === '') this.unequal = [];
    else this.compare(others).catch(() => (this.compared = '')); // retried with the next news
  }

  private relimit(changes: LimitChanges, now: number): void {
    this.limitsEnd?.cancel();
    if (this.closed) return;
    const lasting = changesAt(changes, now);
    this.parts.relimit?.(lasting);
    const ends = Math.min(...Array.from(lasting.values(), ({ until = Infinity }) => until)) - now;
    if (ends === Infinity) return;
    const wait = Math.min(ends, LONGEST_TIMER_MS);
    this.limitsEnd = this.parts.clock.after(wait, () => this.relimit(lasting, now + wait));
  }

  private mark(drained: readonly string[]): void {
    for (const node of this.parts.cluster.nodes) node.drained = drained.includes(node.endpoint);
  }

  private async compare(others: string): Promise<void> {
    const { presence, warn } = this.parts;
    const all = await presence.all();
    if (this.compared !== others) return;
    this.unequal = unequalSettings(
      this.describe(),
      all.map(({ record }) => record),
    );
    for (const { what, text } of this.unequal) {
      if (!this.warned.has(what)) warn(text);
      this.warned.add(what);
    }
  }
}

function bounded(load: readonly TubeLoad[]): TubeLoad[] {
  let left = MAX_LONG_RUNS;
  return load.slice(0, MAX_TUBES).map((tube) => {
    const long: readonly LongRun[] = tube.long.slice(0, left);
    left -= long.length;
    return { ...tube, long };
  });
}
