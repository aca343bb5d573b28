/** How the consumers of a cluster are, as this process sees it. */
export interface KqHealthState {
  /** `down`: this process is not in one of its groups, and so handles none of its messages. */
  readonly status: 'up' | 'down';
  /** By group: `up`, or why this process is not in it. */
  readonly groups: Readonly<Record<string, string>>;
}

/** A group of this process. */
export interface GroupState {
  readonly group: string;
  /** `up`, or why it is not. */
  readonly state: string;
}

/** Whether messages are handled, in the form that @nestjs/terminus takes: `health.check([() => kq.check()])`. Inject it. */
export abstract class KqHealth {
  /**
   * Known without asking the brokers. Never rejects.
   * @param key The name in the result. Default: `kq`.
   */
  abstract check<Key extends string = 'kq'>(key?: Key): Promise<Record<Key, KqHealthState>>;
}

export class GroupsHealth extends KqHealth {
  constructor(private readonly groups: () => Iterable<GroupState>) {
    super();
  }

  override async check<Key extends string = 'kq'>(key?: Key): Promise<Record<Key, KqHealthState>> {
    const groups: Record<string, string> = {};
    let status: KqHealthState['status'] = 'up';
    for (const { group, state } of this.groups()) {
      if (state !== 'up') status = 'down';
      // A group may have a second member, of modules that were loaded lazily.
      if (groups[group] === undefined || groups[group] === 'up') groups[group] = state;
    }
    return { [key ?? 'kq']: { status, groups } } as Record<Key, KqHealthState>;
  }
}
