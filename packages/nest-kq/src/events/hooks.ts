import { checkHooks as check } from 'nest-handlers/events';
import type { MessageOptions, Pushed, PushResult } from '../api/message.js';
import type { KqMessage } from '../api/received.js';
import { wrongValue } from '../errors.js';
import type { KqEvents } from './events.js';

/** The message that is about to be pushed, as far as hooks see it. */
export interface PushedTo {
  readonly topic: string;
  /** As it was given; absent if it has none. */
  readonly key?: string | Uint8Array | null;
}

/** A call of `push` or `pushMany`, also within a transaction. */
export interface KqPushCall extends PushedTo {
  /** It is `pushMany`; then no `key` is here. */
  readonly many: boolean;
  /** How many messages it has. */
  readonly count: number;
}

/** A call of a handler. */
export interface KqRun {
  readonly group: string;
  /** Those that it is called with, all of one partition; one, unless the handler takes batches. */
  readonly messages: readonly KqMessage[];
  /** The handler takes batches. */
  readonly batch: boolean;
}

/**
 * Carries what surrounds a call (a trace, a tenant, a logger's context) from where a message is pushed to where it is
 * handled. Given as the module's option `hooks`. `nest-kq/opentelemetry` uses nothing but this.
 */
export interface KqHooks {
  /**
   * Called for each message that is pushed, in the caller's context, before it is sent. The headers that it writes travel with
   * the message, beside its own. If it throws, the push is `KQ_BAD_MESSAGE`. Not called for dead letters and replays, which
   * keep their headers.
   */
  onPush?(headers: Record<string, string>, message: PushedTo): void;
  /**
   * Called around each call of `push` and `pushMany`; not for a push with `delay` or `at`, which stores a job. It calls `next`
   * once and at once, in any context, and returns what that returned: what `push` and `pushMany` resolve with.
   */
  aroundPush?<T extends Pushed | PushResult[]>(call: KqPushCall, next: () => Promise<T>): Promise<T>;
  /**
   * Called around each call of a handler, with its guards, pipes and filters. It calls `next` once, in any context, and
   * returns what that returned. If it throws or returns something else, that counts as the handler's.
   */
  aroundHandler?(run: KqRun, next: () => unknown): unknown;
  /**
   * Called once, before anything of the cluster starts. The function that it returns is called when the module is closed.
   * If it throws, the start of the application fails.
   */
  onStart?(cluster: KqClusterView): (() => void) | void;
}

/** A cluster as a hook sees it. */
export interface KqClusterView {
  /** Undefined: the one without a name. */
  readonly name: string | undefined;
  /** The option of that name. */
  readonly clientId: string;
  /** Those of this process. */
  readonly events: KqEvents;
  /** What this process knows now, without asking anybody. */
  readonly load: () => KqLoad;
}

/** What this process has at hand. */
export interface KqLoad {
  /** Messages that were pushed and wait for their answer; without those of transactions. */
  readonly pushing: number;
  /** Of each group of this process. */
  readonly groups: readonly KqGroupLoad[];
}

/** A group, as this process sees it. */
export interface KqGroupLoad {
  readonly group: string;
  /** This process is in it. */
  readonly up: boolean;
  /** Calls of handlers that have not returned. */
  readonly running: number;
  /** Those of this process. */
  readonly partitions: readonly KqPartitionLoad[];
}

/** A partition of this process. */
export interface KqPartitionLoad {
  readonly topic: string;
  readonly partition: number;
  /** Messages that are not handled, as of the last fetch; gaps count. Absent: nothing was fetched yet. */
  readonly lag?: number;
}

/** What hooks and events see of a message. The options themselves may be what is wrong with it. */
export function pushedTo(topic: string, options: MessageOptions | null): PushedTo {
  const key = options?.key;
  return key === undefined ? { topic } : { topic, key };
}

/** What a pusher has of all hooks. */
export type PushHooks = Pick<KqHooks, 'onPush' | 'aroundPush'>;

/** Calls all `onPush`, and puts all `aroundPush` around a call, the first outermost; absent where there is none. */
export function pushHooks(hooks: readonly KqHooks[]): PushHooks {
  const asked = hooks.filter((hook) => hook.onPush !== undefined);
  const around = hooks.filter((hook) => hook.aroundPush !== undefined);
  return {
    ...(asked.length > 0 && {
      onPush: (headers, message) => {
        for (const hook of asked) hook.onPush!(headers, message);
      },
    }),
    ...(around.length > 0 && {
      aroundPush: (call, next) =>
        around.reduceRight((inner, hook) => () => hook.aroundPush!(call, inner), next)(),
    }),
  };
}

/** Puts all `aroundHandler` around a call, the first outermost; undefined if there are none. */
export function handlerHook(hooks: readonly KqHooks[]): NonNullable<KqHooks['aroundHandler']> | undefined {
  const around = hooks.filter((hook) => hook.aroundHandler !== undefined);
  if (around.length === 0) return undefined;
  return (run, next) => around.reduceRight((inner, hook) => () => hook.aroundHandler!(run, inner), next)();
}

/** `KQ_CONFIG`: these are no hooks, or a name is misspelt. */
export function checkHooks(hooks: unknown): readonly KqHooks[] {
  return check<KqHooks>(
    hooks,
    ['onPush', 'aroundPush', 'aroundHandler', 'onStart'],
    (what, value, expected) => wrongValue('KQ_CONFIG', what, value, expected),
  );
}
