import { MemoryBudget } from '../consumer/memory-budget.js';
import { DelaysPort, type Consuming } from '../delays/delays.js';
import type { LogAdmin, LogDriver, LogProducer } from '../driver/driver.js';
import type { OutgoingMessage } from '../driver/message.js';
import { LogDeadLetters } from '../dead-letters/log-dead-letters.js';
import { KqError, toError } from '../errors.js';
import { EventHub } from '../events/event-hub.js';
import { handlerHook, pushHooks, type KqLoad } from '../events/hooks.js';
import { LogGroups } from '../groups/log-groups.js';
import type { LetterTopic } from '../failures/failure-options.js';
import { settingsOf } from '../driver/made-topics.js';
import { GroupsHealth } from '../health/health.js';
import { LogPusher } from '../pusher/log-pusher.js';
import type { Environment } from './environment.js';
import { GroupMembership } from './group-membership.js';
import type { FoundHandler } from './handler-explorer.js';
import { LogReport } from './log-report.js';
import type { ResolvedOptions } from './options.js';
import { subscriptionsOf, type Subscribed } from './subscriptions.js';

/** Delay before a message that no handler takes is tried again: another process may have its handler. */
const NO_HANDLER_MS = 60_000;

/** The parts of one cluster in one application. The constructor wires them and opens nothing. */
export class KqRuntime {
  readonly pusher: LogPusher;
  readonly health: GroupsHealth;
  readonly groups: LogGroups;
  readonly deadLetters: LogDeadLetters;
  readonly events: EventHub;
  private readonly report: LogReport;
  /** Shared by all groups and pushes. */
  private readonly budget: MemoryBudget;
  /** nest-dq, if the application has it. */
  readonly delays = new DelaysPort();
  private readonly memberships: GroupMembership[] = [];
  /** Consumers of messages that come back from nest-dq. */
  private readonly comingBack: Consuming[] = [];
  /**
   * By group, the subscriptions that run its delayed messages. A group has one tube, and a lazily loaded module may add
   * handlers.
   */
  private readonly takers = new Map<string, Subscribed[]>();
  /** Producer of dead letters, which are stored even while the push buffer is full. */
  private readonly letters: LogProducer;
  private readonly unhook: (() => void)[] = [];
  private closing: Promise<void> | undefined;

  constructor(
    readonly options: ResolvedOptions,
    private readonly environment: Pick<Environment, 'clock' | 'stopped'>,
    private readonly driver: LogDriver,
    /** Cluster name. */
    readonly name?: string,
  ) {
    this.report = new LogReport(options.logger, options.logLevels, environment.clock);
    this.events = new EventHub((who, error) => this.report.listenerFailed(who, error));
    this.report.listen(this.events);
    this.pusher = new LogPusher(this.driver, environment.clock, options.pusher, {
      events: this.events,
      hooks: pushHooks(options.hooks),
      delays: this.delays,
    });
    this.budget = new MemoryBudget(options.memory, () => this.pusher.pendingBytes);
    this.letters = this.driver.producer({ patience: options.pusher.producer.patience });
    const { admin } = this.driver;
    this.health = new GroupsHealth(admin, environment.clock, () => this.memberships);
    this.groups = new LogGroups(
      admin,
      () => this.memberships,
      (line) => options.logger.log(line),
    );
    this.deadLetters = new LogDeadLetters(admin, this.letters, (line) => options.logger.log(line));
  }

  /** Creates a runtime with the environment's log. `KQ_CONFIG`. */
  static async make(environment: Environment, options: ResolvedOptions, name?: string): Promise<KqRuntime> {
    return new KqRuntime(options, environment, await environment.driver(options, name), name);
  }

  get admin(): LogAdmin {
    return this.driver.admin;
  }

  /** Ends a transaction left open by a previous process, if any. Never rejects: the next transaction ends it, too. */
  async takeOver(): Promise<void> {
    try {
      await this.pusher.takeOver();
    } catch (thrown) {
      if (this.closing) return;
      this.options.logger.warn(
        `a previous process may have left a transaction open: ${toError(thrown).message}`,
      );
    }
  }

  /** Starts pushing messages that waited in nest-dq. */
  async pushWhatWaits(): Promise<void> {
    if (!this.delays.consume) return;
    const push = (topic: string, message: OutgoingMessage) => this.store(topic, message);
    this.comingBack.push(await this.delays.need('a push').consumePushes(push));
  }

  /** Called once, before anything else. Throws what a hook throws. */
  start(): void {
    const { name, events, options } = this;
    const { clientId } = options;
    for (const hook of options.hooks) {
      const stop = hook.onStart?.({ name, clientId, events, load: () => this.load() });
      if (stop) this.unhook.push(stop);
    }
  }

  /** Joins each group of these handlers. Rejects like `GroupMembership.start`, and with `KQ_CONFIG`. */
  async consume(handlers: readonly FoundHandler[]): Promise<void> {
    for (const { settings } of handlers) {
      const { letterTopic } = settings.failures;
      if (letterTopic !== undefined) this.deadLetters.note(letterTopic);
    }
    const groups = new Set(handlers.map(({ settings }) => settings.group));
    const starting = Array.from(groups, (group) =>
      this.consumeGroup(
        group,
        handlers.filter(({ settings }) => settings.group === group),
      ),
    );
    await Promise.all(starting);
  }

  /** Leaves all groups. Never rejects. Idempotent. */
  async stop(): Promise<void> {
    const ends = Promise.all([
      ...this.memberships.map((each) => each.end()),
      ...this.comingBack.splice(0).map((each) => each.stop()),
    ]).then(() => undefined);
    await (this.environment.stopped?.(ends) ?? ends);
  }

  /** Called after `stop`. Idempotent. Failures are logged and don't stop the rest. */
  close(): Promise<void> {
    return (this.closing ??= this.end());
  }

  private async consumeGroup(group: string, handlers: readonly FoundHandler[]): Promise<void> {
    const subscribed = handlers.map((each) => this.subscriptionsOf(each));
    const subscriptions = subscribed.flat();
    const names = subscribed.flatMap((all, index) => all.map(() => handlers[index]!.name));
    const membership = this.membershipOf(group, handlers[0]!.settings.from, subscriptions, names);
    this.memberships.push(membership);
    const through = handlers.filter(({ settings }) => settings.failures.usesDq);
    if (through.length > 0 && this.delays.consume) await this.takeBack(group, through, subscriptions);
    await membership.start();
  }

  /** Starts running the group's failed messages that waited in nest-dq. */
  private async takeBack(
    group: string,
    handlers: readonly FoundHandler[],
    subscriptions: readonly Subscribed[],
  ): Promise<void> {
    const before = this.takers.get(group);
    if (before) {
      before.push(...subscriptions);
      return;
    }
    const takers = [...subscriptions];
    this.takers.set(group, takers);
    const concurrency = Math.max(...handlers.map(({ settings }) => settings.concurrency));
    const delays = this.delays.need(`the group ${group}`);
    const consuming = await delays.consumeRetries(group, concurrency, async (failed, signal) => {
      for (const subscription of takers) {
        const running = subscription.runLater(failed, signal);
        if (running) return running;
      }
      const fact = `the group ${group} no longer has a handler of ${failed.topic} in this process`;
      return { after: NO_HANDLER_MS, error: new KqError('KQ_CONFIG', fact) };
    });
    this.comingBack.push(consuming);
  }

  private subscriptionsOf(handler: FoundHandler): readonly Subscribed[] {
    const { clock } = this.environment;
    const { needsDq, usesDq } = handler.settings.failures;
    const delays = needsDq ? this.delays.need(handler.name) : usesDq ? this.delays.find() : undefined;
    const around = handlerHook(this.options.hooks);
    return subscriptionsOf(handler, {
      clock,
      events: this.events,
      budget: this.budget,
      store: (to, letter) => this.storeLetter(to, letter),
      ...(around && { around }),
      ...(delays && { delays }),
    });
  }

  private membershipOf(
    group: string,
    from: 'first' | 'last',
    subscriptions: readonly Subscribed[],
    names: readonly string[],
  ): GroupMembership {
    const { commitEvery, sessionTimeout, rebalanceTimeout, shutdownTimeout, groupInstanceId } = this.options;
    const { clock } = this.environment;
    return new GroupMembership(this.driver, clock, this.events, this.report, {
      group,
      from,
      commitEvery,
      sessionTimeout,
      rebalanceTimeout,
      ...(groupInstanceId !== undefined && { groupInstanceId: this.nameIn(group, groupInstanceId) }),
      shutdownTimeout,
      subscriptions,
      names,
      retries: new Map(subscriptions.flatMap(({ retries }) => [...retries])),
    });
  }

  /** A group may have a second member, for lazily loaded modules. */
  private nameIn(group: string, groupInstanceId: string): string {
    const before = this.memberships.filter((each) => each.group === group).length;
    return before === 0 ? groupInstanceId : `${groupInstanceId}-${before + 1}`;
  }

  private load(): KqLoad {
    return { pushing: this.pusher.pending, groups: this.memberships.map((each) => each.load()) };
  }

  private async storeLetter({ topic, madeFor }: LetterTopic, letter: OutgoingMessage): Promise<void> {
    try {
      await this.store(topic, letter);
    } catch (thrown) {
      const missing = thrown instanceof KqError && thrown.code === 'KQ_UNKNOWN_TOPIC';
      if (!missing || madeFor === undefined) throw thrown;
      const made = await this.admin.createTopics([settingsOf(topic, madeFor)]);
      if (made.length > 0) this.report.made(topic, madeFor);
      await this.store(topic, letter);
    }
    if (madeFor === undefined) this.deadLetters.note(topic);
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
        this.options.logger.error(`part of the module could not be closed: ${message}`, stack);
      }
    }
    for (const stop of this.unhook) {
      try {
        stop();
      } catch (thrown) {
        this.report.listenerFailed('the cleanup of a hook', toError(thrown));
      }
    }
    this.events.close();
  }
}
