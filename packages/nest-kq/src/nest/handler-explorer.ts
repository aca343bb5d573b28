import {
  HandlerInvoker,
  MarkedMethods,
  type ClusterNames,
  type FoundMethod,
  type NestModule,
  type NestParts,
} from 'nest-handlers';
import { matchesAny } from '../driver/expressions.js';
import type { MessageHandler } from '../failures/handler-runs.js';
import { KqError, show } from '../errors.js';
import { patternOf, resolveHandler, type HandlerSettings } from './handler-options.js';
import { MESSAGE_HANDLERS, unfinishedOf, type MessageItem } from './message-handlers.js';
import { asConfigError } from './option-checks.js';
import type { ResolvedOptions } from './options.js';
import { topicMarks, type TopicMark } from './topic-handler.js';

export interface FoundHandler {
  /** Class, method and module, for messages. */
  readonly name: string;
  readonly handler: MessageHandler;
  /** Each call is surrounded by enhancers, or by the creation of an instance. */
  readonly isSurrounded: boolean;
  readonly settings: HandlerSettings;
}

/** Finds the `@TopicHandler` methods of a cluster and checks them. */
export class HandlerExplorer {
  private readonly methods: MarkedMethods<TopicMark>;
  private readonly invoker: HandlerInvoker<MessageItem>;
  private readonly found: FoundHandler[] = [];

  constructor(
    nest: NestParts,
    private readonly options: ResolvedOptions,
    private readonly hasDq: () => boolean,
    cluster?: string,
  ) {
    this.methods = new MarkedMethods(nest, topicMarks, cluster);
    this.invoker = new HandlerInvoker(nest, MESSAGE_HANDLERS, options.logger);
  }

  /**
   * Returns the handlers not found before, in all modules or the given ones. `KQ_CONFIG`: wrong options, two handlers of one
   * topic in one group, a cluster that no module registers, a transient class, or decorators that would have no effect.
   */
  explore(clusters: ClusterNames, modules?: ReadonlySet<NestModule>): FoundHandler[] {
    const handlers: FoundHandler[] = [];
    for (const [method, mark] of this.methods.find(clusters, modules)) {
      const handler = this.check(mark, method);
      for (const other of this.found) refuseBoth(handler, other);
      this.found.push(handler);
      handlers.push(handler);
    }
    this.invoker.advise();
    return handlers;
  }

  private check({ topics, options }: TopicMark, found: FoundMethod): FoundHandler {
    const { name } = found;
    const { group } = this.options;
    const settings = asConfigError(`${name}: `, () => resolveHandler(topics, options, group, this.hasDq()));
    const call = this.invoker.bind(found);
    const handler = (value: unknown, item: MessageItem): unknown => {
      const returned = call(value, item);
      return returned instanceof Promise ? whenEnded(returned, item) : returned;
    };
    return { name, handler, isSurrounded: this.invoker.surrounds(found), settings };
  }
}

/** Waits for a handler that outlives its call: the next message in its order must not run concurrently with it. */
async function whenEnded(returning: Promise<unknown>, item: MessageItem): Promise<unknown> {
  try {
    return await returning;
  } finally {
    await unfinishedOf(item);
  }
}

function refuseBoth(handler: FoundHandler, other: FoundHandler): void {
  const { group, from } = handler.settings;
  if (other.settings.group !== group) return;
  const both = `${other.name} and ${handler.name}`;
  const topic = sharedTopic(handler, other);
  if (topic !== undefined) {
    throw new KqError(
      'KQ_CONFIG',
      `the topic ${show(topic)} has two handlers in the group ${show(group)}, ${both}: expected one, or separate ` +
        'groups; is a class provided twice, or its decorated method inherited twice?',
    );
  }
  if (other.settings.from === from) return;
  throw new KqError(
    'KQ_CONFIG',
    `the group ${show(group)} has \`from\` ${show(other.settings.from)} and ${show(from)} in ${both}: expected the same, ` +
      'or separate groups',
  );
}

/** Returns a topic name or an expression that both handle. */
function sharedTopic(one: FoundHandler, other: FoundHandler): string | RegExp | undefined {
  const others = other.settings.topics.map(patternOf);
  for (const topic of one.settings.topics.map(patternOf))
    for (const each of others) {
      if (String(topic) === String(each)) return topic;
      if (typeof topic === 'string' && matches(topic, each)) return topic;
      if (typeof each === 'string' && matches(each, topic)) return each;
    }
  return undefined;
}

function matches(name: string, pattern: string | RegExp): boolean {
  return typeof pattern !== 'string' && matchesAny(name, [pattern]);
}
