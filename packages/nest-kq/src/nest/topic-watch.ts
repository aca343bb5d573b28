import { has, type Subscription } from '../consumer/group-consumer.js';
import type { LogAdmin } from '../driver/driver.js';
import { matchesAny } from '../driver/expressions.js';
import { KqError, show } from '../errors.js';
import type { Clock, Timer } from 'nest-handlers/time';
import type { LogReport } from './log-report.js';

/** Poll interval if the log doesn't announce new topics. */
const INTERVAL_MS = 5_000;

export interface TopicWatchOptions {
  readonly group: string;
  readonly patterns: readonly RegExp[];
  readonly subscriptions: readonly Subscription[];
  /** Names of their handlers, in the same order, for messages. */
  readonly names: readonly string[];
  /** Makes the group rejoin to read new topics. Never rejects. */
  came(topics: readonly string[]): Promise<void>;
}

/** Looks for topics created after a group was joined, if its handlers have regular expressions. */
export class TopicWatch {
  /** Topics that match the expressions; undefined before the first successful look. */
  private known: Set<string> | undefined;
  /** Topics created since the first look. */
  private readonly new = new Set<string>();
  private timer: Timer | undefined;
  private stopped = false;
  private looking = false;
  /** A topic was created during a look. */
  private created = false;
  private unwatch = () => {};

  constructor(
    private readonly admin: Pick<LogAdmin, 'topics' | 'watch'>,
    private readonly clock: Clock,
    private readonly report: Pick<LogReport, 'twoHandlers' | 'noTopics'>,
    private readonly options: TopicWatchOptions,
  ) {}

  /** Topics created since the start, which are read from their first message. */
  get later(): ReadonlySet<string> {
    return this.new;
  }

  /** Called before the first join; rejects with `KQ_CONFIG` if an existing topic has two handlers. Then polls. */
  async start(): Promise<void> {
    if (this.admin.watch) this.unwatch = this.admin.watch(() => void this.lookAgain());
    this.looking = true;
    const topics = await this.look();
    const twice = topics?.map((topic) => this.twoHandlers(topic)).find((fact) => fact !== undefined);
    if (twice !== undefined) {
      const expected = 'expected disjoint expressions, or separate groups';
      throw new KqError('KQ_CONFIG', `${twice}: ${expected}`);
    }
    this.looking = false;
    if (this.created) void this.lookAgain();
    else this.arm();
  }

  /** Idempotent. */
  stop(): void {
    this.stopped = true;
    this.unwatch();
    this.timer?.cancel();
  }

  private arm(): void {
    if (this.stopped || this.admin.watch) return;
    this.timer = this.clock.after(INTERVAL_MS, () => void this.lookAgain());
  }

  private async lookAgain(): Promise<void> {
    this.created = true;
    if (this.looking || this.stopped) return;
    this.looking = true;
    while (this.created && !this.stopped) {
      this.created = false;
      await this.lookOnce();
    }
    this.looking = false;
    this.arm();
  }

  private async lookOnce(): Promise<void> {
    // After a start without brokers it is unknown what the group has read meanwhile.
    const first = this.known === undefined;
    const topics = await this.look();
    if (this.stopped) return;
    if (topics && topics.length > 0) {
      for (const topic of topics) {
        if (!first) this.new.add(topic);
        const twice = this.twoHandlers(topic);
        if (twice !== undefined) this.report.twoHandlers(twice);
      }
      await this.options.came(topics);
    }
  }

  /** Returns the new topics, or undefined if the brokers didn't answer, which the member itself reports. */
  private async look(): Promise<readonly string[] | undefined> {
    let all: Awaited<ReturnType<LogAdmin['topics']>>;
    try {
      all = await this.admin.topics();
    } catch {
      return undefined; // the member reports it; retried at the next look
    }
    const { group, patterns } = this.options;
    const matching = all.map(({ topic }) => topic).filter((topic) => matchesAny(topic, patterns));
    const came = matching.filter((topic) => !this.known?.has(topic));
    if (matching.length === 0 && !this.known) this.report.noTopics(group, patterns);
    this.known = new Set(matching); // a deleted topic may be created again
    return came;
  }

  private twoHandlers(topic: string): string | undefined {
    const { subscriptions, names, group } = this.options;
    const whose = names.filter((_, index) => has(subscriptions[index]!, topic));
    if (whose.length < 2) return undefined;
    return `the topic ${show(topic)} has two handlers in the group ${show(group)}, ${whose.join(' and ')}`;
  }
}
