import type { Admission } from '../cluster/admission.js';
import type { Cluster } from '../cluster/cluster.js';

/** How a cluster is, as this process sees it. */
export interface DqHealthState {
  /**
   * `down`: fewer nodes than `minWritten` store jobs and let this process reserve them, or Redis does not answer, or this process
   * was refused because other processes have another Redis, or cannot read the identity of its ledger, or a key of its seal was refused.
   * If only some of the nodes are down, and enough are left, the cluster is up.
   */
  readonly status: 'up' | 'down';
  /** By endpoint: `up`, or why the node cannot store or reserve. */
  readonly nodes: Readonly<Record<string, string>>;
  /** `none`: the ledger is in the memory of this process. */
  readonly redis: 'up' | 'down' | 'none';
  /** Why `redis` is `down`. Absent if it is not. */
  readonly redisDown?: RedisDownState;
  /**
   * Other processes decide about the same jobs in another Redis: the identity of their ledger and of this one's, and a node at which
   * they are. With `refused` this process runs nothing, and `status` is `down`. Otherwise both run jobs, and some may run twice.
   * Absent if there are none.
   */
  readonly otherLedger?: OtherLedgerState;
  /** Why the identity of the ledger can't be read: no job starts, and `status` is `down`. Absent if it can. */
  readonly unidentified?: string;
  /** For people: each setting that should be the same in all processes, and is not. Absent if there is none. */
  readonly unequalSettings?: readonly string[];
  /**
   * Jobs of which no node has a copy any more, as this process found since its start: they were stored on nodes that lost their
   * data. Absent if there are none. `status` does not depend on it.
   */
  readonly lost?: LostJobsState;
  /**
   * Jobs that miss copies and that this process should have repaired and could not, because they are sealed with keys that it does
   * not have. Another process repairs them, if one has the keys. Absent if there are none. `status` does not depend on it.
   */
  readonly unreadable?: UnreadableState;
  /**
   * The names of keys in `seal.keys` that mean other bytes in other processes: this process neither seals nor reads with them, and
   * `status` is `down`. Absent if there are none.
   */
  readonly refusedKeys?: readonly string[];
}

/** What the repair of this process could not read. */
export interface UnreadableState {
  /** Of jobs. */
  readonly count: number;
  /** The names of the keys that this process misses. */
  readonly keys: readonly string[];
}

/** Why Redis does not answer. */
export interface RedisDownState {
  /** For people; it has no secrets. */
  readonly reason: string;
  /** When this process noticed it, by the clock of its machine. Absent: Redis has not answered this process yet. */
  readonly since?: Date;
}

/** Two ledgers over one set of nodes. */
export interface OtherLedgerState {
  /** The identity of the other ledger. */
  readonly id: string;
  /** The identity of this process's ledger. */
  readonly ours: string;
  /** The endpoint of a node at which both are. */
  readonly node: string;
  /** Whether this process runs nothing because of it. */
  readonly refused: boolean;
}

/** Lost jobs, as the event `lost` told of each. */
export interface LostJobsState {
  /** Since this process started. */
  readonly count: number;
  /** The last one that was told. */
  readonly latest: {
    /** Without the prefix. */
    readonly tube: string;
    /** Of the job. */
    readonly id: string;
    /** When it was due. */
    readonly dueAt: Date;
  };
}

/** Whether jobs can be stored and run, in the form that @nestjs/terminus takes: `health.check([() => dq.check()])`. Inject it. */
export abstract class DqHealth {
  /**
   * Asks Redis, which takes at most a second. The state of the nodes is known without asking. Never rejects.
   * @param key The name in the result. Default: `dq`.
   */
  abstract check<Key extends string = 'dq'>(key?: Key): Promise<Record<Key, DqHealthState>>;
}

export class ClusterHealth extends DqHealth {
  constructor(
    private readonly cluster: Cluster,
    /** Why Redis does not answer now, if it does not; absent if there is no Redis. */
    private readonly askRedis: (() => Promise<RedisDownState | undefined>) | undefined,
    private readonly unequalSettings: () => readonly string[] = () => [],
    private readonly lost: () => LostJobsState | undefined = () => undefined,
    private readonly admission: () => Pick<Admission, 'admitted' | 'other' | 'unread'> | undefined = () =>
      undefined,
    private readonly unreadable: () => UnreadableState | undefined = () => undefined,
    private readonly refusedKeys: () => readonly string[] = () => [],
  ) {
    super();
  }

  override async check<Key extends string = 'dq'>(key?: Key): Promise<Record<Key, DqHealthState>> {
    const { askRedis, cluster } = this;
    const redisDown = await askRedis?.();
    const redis = redisDown ? 'down' : askRedis ? 'up' : 'none';
    const { nodes, settings } = cluster;
    const usable = nodes.filter(({ reason }) => reason === 'up').length;
    const { other, admitted, unread } = this.admission() ?? {};
    const unidentified = redis === 'up' && !admitted ? unread?.message : undefined;
    const otherLedger = other && { ...other, refused: !admitted };
    const refused = this.refusedKeys();
    const isDown =
      redis === 'down' ||
      unidentified !== undefined ||
      usable < settings.minWritten ||
      otherLedger?.refused === true ||
      refused.length > 0;
    const status = isDown ? 'down' : 'up';
    const reasons = Object.fromEntries(nodes.map(({ endpoint, reason }) => [endpoint, reason]));
    const unequal = this.unequalSettings();
    const lost = this.lost();
    const unreadable = this.unreadable();
    const told = {
      ...(redisDown && { redisDown }),
      ...(otherLedger && { otherLedger }),
      ...(unidentified !== undefined && { unidentified }),
      ...(unequal.length > 0 && { unequalSettings: unequal }),
      ...(lost && { lost }),
      ...(unreadable && { unreadable }),
      ...(refused.length > 0 && { refusedKeys: refused }),
    };
    return { [key ?? 'dq']: { status, nodes: reasons, redis, ...told } } as Record<Key, DqHealthState>;
  }
}
