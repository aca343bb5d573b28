import type { LogDriver, LogProducer } from '../driver/driver.js';
import type { OutgoingMessage } from '../driver/message.js';
import { toError } from '../errors.js';
import { GroupsHealth } from '../health/health.js';
import { LogPusher } from '../pusher/log-pusher.js';
import type { Environment } from './environment.js';
import { GroupMembership } from './group-membership.js';
import type { FoundHandler } from './handler-explorer.js';
import { LogReport } from './log-report.js';
import type { ResolvedOptions } from './options.js';
import { subscriptionOf } from './subscriptions.js';

/** All parts of one cluster in one application. The constructor puts them together, and opens nothing. */
export class KqRuntime {
  readonly pusher: LogPusher;
  readonly health: GroupsHealth;
  private readonly driver: LogDriver;
  private readonly report: LogReport;
  private readonly memberships: GroupMembership[] = [];
  /** Of dead letters, which are stored while no push has room. */
  private readonly letters: LogProducer;
  private closing: Promise<void> | undefined;

  constructor(
    readonly options: ResolvedOptions,
    private readonly environment: Environment,
    /** The name of the cluster. */
    readonly name?: string,
  ) {
    this.driver = environment.driver(options);
    this.report = new LogReport(options.logger, environment.clock);
    this.pusher = new LogPusher(this.driver, environment.clock, options.pusher);
    this.letters = this.driver.producer({ patience: options.pusher.producer.patience });
    this.health = new GroupsHealth(() => this.memberships);
  }

  /** Joins the groups of these handlers, one time each. Rejects as `GroupMembership.start`. */
  async consume(handlers: readonly FoundHandler[]): Promise<void> {
    const groups = new Set(handlers.map(({ settings }) => settings.group));
    const memberships = Array.from(groups, (group) =>
      this.membershipOf(
        group,
        handlers.filter(({ settings }) => settings.group === group),
      ),
    );
    this.memberships.push(...memberships);
    await Promise.all(memberships.map((each) => each.start()));
  }

  /** Leaves all groups. Never rejects. Idempotent. */
  async stop(): Promise<void> {
    await Promise.all(this.memberships.map((each) => each.end()));
  }

  /** After `stop`. Idempotent. What fails is logged, and the rest goes on. */
  close(): Promise<void> {
    return (this.closing ??= this.end());
  }

  private membershipOf(group: string, handlers: readonly FoundHandler[]): GroupMembership {
    const { commitEvery, sessionTimeout, shutdownTimeout } = this.options;
    const { clock } = this.environment;
    const store = (topic: string, letter: OutgoingMessage) => this.store(topic, letter);
    return new GroupMembership(this.driver, clock, this.report, {
      group,
      from: handlers[0]!.settings.from,
      commitEvery,
      sessionTimeout,
      shutdownTimeout,
      subscriptions: handlers.map((each) => subscriptionOf(each, { clock, events: this.report, store })),
      names: handlers.map(({ name }) => name),
    });
  }

  private async store(topic: string, letter: OutgoingMessage): Promise<void> {
    const [sent] = await this.letters.send(topic, [letter]);
    if (sent instanceof Error) throw sent;
  }

  private async end(): Promise<void> {
    for (const part of [this.pusher, this.letters, this.driver]) {
      try {
        await part.close();
      } catch (thrown) {
        const { message, stack } = toError(thrown);
        this.options.logger.error(`a part of the module could not be closed: ${message}`, stack);
      }
    }
  }
}
