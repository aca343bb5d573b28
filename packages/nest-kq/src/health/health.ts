import { checkOptions, wholeNumber } from '../api/checks.js';
import { keyOf } from '../driver/assignment.js';
import type { Progress } from '../consumer/group-consumer.js';
import type { LogAdmin, Unavailable as KqUnavailable } from '../driver/driver.js';
import type { Clock } from 'nest-handlers/time';
import { lagOf, type Behind } from './lag.js';

/** How the consumers of a cluster are, as this process sees it. */
export interface KqHealthState {
  /** `down`: this process is not in one of its groups, and so handles none of its messages; or a bound is exceeded. */
  readonly status: 'up' | 'down';
  /** By name, the groups of this process. */
  readonly groups: Readonly<Record<string, KqGroupHealth>>;
}

/** How this process is in a group. Other processes tell of their own partitions. */
export interface KqGroupHealth {
  /** `up`, or why this process is not in the group. */
  readonly state: string;
  /**
   * Messages of its partitions that are not handled yet, without those of partitions that have no leader. Absent: not known;
   * `unknown` says why.
   */
  readonly lag?: number;
  /** When the oldest message was stored that has come and is not handled. Absent: there is none. */
  readonly oldest?: Date;
  /** By `topic/partition`, the messages that are not handled yet, or null where that is not known. */
  readonly partitions: Readonly<Record<string, number | null>>;
  /** By `topic/partition`, the offset of the message that holds it up: nothing behind it is fetched. Absent: none does. */
  readonly stalled?: Readonly<Record<string, string>>;
  /** `true`: the whole group is paused in this process; else the topics that are. Absent: nothing is. */
  readonly paused?: true | readonly string[];
  /** Why some lag is not known. Absent: all is. */
  readonly unknown?: string;
  /**
   * What cannot be read, with the reason: `orders/3 has no leader`, `payments does not exist`. All else goes on, so the state
   * stays `up`. Absent: nothing is missing.
   */
  readonly unavailable?: readonly string[];
}

/** What `status` depends on beside the groups' states. */
export interface KqHealthBounds {
  /**
   * The most messages of a group that may wait in the partitions of this process. If that is not known, `status` is `down`,
   * too. @default any number
   */
  maxLag?: number;
}

/** A group of this process. */
export interface GroupState {
  readonly group: string;
  /** `up`, or why it is not. */
  readonly state: string;
  /** Of its partitions; none while it is not up. */
  readonly progress: readonly Progress[];
  /** True: all; undefined: nothing. */
  readonly paused: true | readonly string[] | undefined;
  /** What of its topics and partitions cannot be read now. */
  readonly unavailable: readonly KqUnavailable[];
}

/** Whether messages are handled, in the form that @nestjs/terminus takes: `health.check([() => kq.check()])`. Inject it. */
export abstract class KqHealth {
  /**
   * Asks the brokers where the partitions end, which takes at most a second; all else is known without asking. It rejects
   * with `KQ_BAD_OPTION` only: a wrong bound.
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

/** A topic or partition, and why it cannot be read. */
export function unavailability({ topic, partition, why }: KqUnavailable): string {
  if (why === 'leaderless') return `${topic}/${partition} has no leader`;
  return why === 'unknown' ? `${topic} does not exist` : `${topic} may not be read`;
}

function healthOf(
  { state, progress, paused, unavailable }: GroupState,
  { partitions, unknown }: Behind,
): KqGroupHealth {
  // Without what has no leader: nobody could handle that.
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

/** A group may have a second member, of modules that were loaded lazily. */
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
