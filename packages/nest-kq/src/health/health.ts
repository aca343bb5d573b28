import { checkOptions, wholeNumber } from '../api/checks.js';
import { keyOf } from '../driver/assignment.js';
import type { Progress } from '../consumer/group-consumer.js';
import type { LogAdmin, Unavailable as KqUnavailable } from '../driver/driver.js';
import type { Clock } from 'nest-handlers/time';
import { lagOf, type Behind } from './lag.js';

/** Health of a cluster's consumers, as this process sees it. */
export interface KqHealthState {
  /** `down`: this process is out of one of its groups, and handles none of its messages; or a bound is exceeded. */
  readonly status: 'up' | 'down';
  /** The groups of this process, by name. */
  readonly groups: Readonly<Record<string, KqGroupHealth>>;
}

/** Health of this process in a group. Other processes report their own partitions. */
export interface KqGroupHealth {
  /** `up`, or the reason this process isn't in the group. */
  readonly state: string;
  /** Unhandled messages of its partitions, excluding partitions without a leader. Absent if unknown; `unknown` has the reason. */
  readonly lag?: number;
  /** Time the oldest received and unhandled message was stored. Absent if there is none. */
  readonly oldest?: Date;
  /** Unhandled messages by `topic/partition`, null if unknown. */
  readonly partitions: Readonly<Record<string, number | null>>;
  /** By `topic/partition`, the offset of the message that stalls it: nothing after it is fetched. Absent if none is stalled. */
  readonly stalled?: Readonly<Record<string, string>>;
  /** `true` if the whole group is paused in this process, otherwise the paused topics. Absent if nothing is paused. */
  readonly paused?: true | readonly string[];
  /** Why some lag is unknown. Absent if all of it is known. */
  readonly unknown?: string;
  /**
   * Unreadable topics and partitions, with the reason: `orders/3 has no leader`, `payments does not exist`. Everything else
   * continues, so the state stays `up`. Absent if nothing is missing.
   */
  readonly unavailable?: readonly string[];
}

/** Bounds for `status`, in addition to the groups' states. */
export interface KqHealthBounds {
  /**
   * Max unhandled messages of a group in the partitions of this process. If that is unknown, `status` is `down`, too.
   * @default no limit
   */
  maxLag?: number;
}

/** A group of this process. */
export interface GroupState {
  readonly group: string;
  /** `up`, or the reason it isn't. */
  readonly state: string;
  /** Progress of its partitions; empty while it isn't up. */
  readonly progress: readonly Progress[];
  /** True if all is paused; undefined if nothing is. */
  readonly paused: true | readonly string[] | undefined;
  /** Topics and partitions that can't be read now. */
  readonly unavailable: readonly KqUnavailable[];
}

/** Health check for @nestjs/terminus: `health.check([() => kq.check()])`. Inject it. */
export abstract class KqHealth {
  /**
   * Asks the brokers for the ends of the partitions, for at most a second; everything else is known locally. Rejects only with
   * `KQ_BAD_OPTION`: a wrong bound.
   * @param key The name in the result. Default: `kq`.
   */
  abstract check<Key extends string = 'kq'>(
    key?: Key,
    bounds?: KqHealthBounds,
  ): Promise<Record<Key, KqHealthState>>;
}

export class GroupsHealth extends KqHealth {
  constructor(
    private readonly admin: LogAdmin,
    private readonly clock: Clock,
    private readonly groups: () => Iterable<GroupState>,
  ) {
    super();
  }

  override async check<Key extends string = 'kq'>(
    key?: Key,
    bounds: KqHealthBounds = {},
  ): Promise<Record<Key, KqHealthState>> {
    checkOptions('KQ_BAD_OPTION', 'a health check', bounds, ['maxLag']);
    const { maxLag } = bounds;
    if (maxLag !== undefined) wholeNumber('KQ_BAD_OPTION', '`maxLag`', maxLag, 0, Number.MAX_SAFE_INTEGER);
    const groups = await Promise.all(
      Array.from(merged(this.groups()), async (each) => {
        return [
          each.group,
          healthOf(each, await lagOf(this.admin, this.clock, each.group, each.progress)),
        ] as const;
      }),
    );
    const well = groups.every(
      ([, { state, lag }]) =>
        state === 'up' && (maxLag === undefined || (lag !== undefined && lag <= maxLag)),
    );
    const state: KqHealthState = { status: well ? 'up' : 'down', groups: Object.fromEntries(groups) };
    return { [key ?? 'kq']: state } as Record<Key, KqHealthState>;
  }
}

/** Describes a topic or partition that can't be read. */
export function unavailability({ topic, partition, why }: KqUnavailable): string {
  if (why === 'leaderless') return `${topic}/${partition} has no leader`;
  return why === 'unknown' ? `${topic} does not exist` : `no permission to read ${topic}`;
}

function healthOf(
  { state, progress, paused, unavailable }: GroupState,
  { partitions, unknown }: Behind,
): KqGroupHealth {
  // Excludes partitions without a leader: nobody could handle those.
  const lag = Object.values(partitions).reduce<number>((sum, each) => sum + (each ?? 0), 0);
  const stalled = progress
    .filter((each) => each.stalled)
    .map((each) => [keyOf(each), String(each.watermark)]);
  const times = progress.flatMap(({ oldest }) => (oldest === undefined ? [] : [oldest]));
  return {
    state,
    ...(state === 'up' && unknown === undefined && { lag }),
    ...(times.length > 0 && { oldest: new Date(Math.min(...times)) }),
    partitions,
    ...(stalled.length > 0 && { stalled: Object.fromEntries(stalled) as Record<string, string> }),
    ...(paused !== undefined && { paused }),
    ...(unknown !== undefined && { unknown }),
    ...(unavailable.length > 0 && { unavailable: unavailable.map(unavailability) }),
  };
}

/** Merges states by group: a group may have a second member, for lazily loaded modules. */
function merged(states: Iterable<GroupState>): Iterable<GroupState> {
  const groups = new Map<string, GroupState>();
  for (const each of states) {
    const { group } = each;
    const none = { state: 'up', progress: [], paused: undefined, unavailable: [] };
    const { state, progress, paused, unavailable } = groups.get(group) ?? none;
    const both = paused === true || each.paused === true ? true : [...(paused ?? []), ...(each.paused ?? [])];
    groups.set(group, {
      group,
      state: state === 'up' ? each.state : state,
      progress: [...progress, ...each.progress],
      unavailable: [...unavailable, ...each.unavailable],
      paused: both === true || both.length > 0 ? both : undefined,
    });
  }
  return groups.values();
}
