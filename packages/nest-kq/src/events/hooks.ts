import { checkHooks as check } from 'nest-handlers/events';
import type { MessageOptions, Pushed, PushResult } from '../api/message.js';
import type { KqMessage } from '../api/received.js';
import { wrongValue } from '../errors.js';
import type { KqEvents } from './events.js';

/** A message about to be pushed, as hooks see it. */
export interface PushedTo {
  /** Topic name. */
  readonly topic: string;
  /** The key as given; absent if there is none. */
  readonly key?: string | Uint8Array | null;
}

/** A call of `push` or `pushMany`, including those in a transaction. */
export interface KqPushCall extends PushedTo {
  /** True for `pushMany`; `key` is absent then. */
  readonly many: boolean;
  /** Number of messages. */
  readonly count: number;
}

/** A call of a handler. */
export interface KqRun {
  /** Consumer group of the handler. */
  readonly group: string;
  /** The messages of the call, all from one partition; exactly one unless the handler takes batches. */
  readonly messages: readonly KqMessage[];
  /** The handler takes batches. */
  readonly batch: boolean;
}

/**
 * Carries the context of a call (a trace, a tenant, a logger's context) from where a message is pushed to where it is handled.
 * Passed as the module's option `hooks`. `nest-kq/opentelemetry` uses nothing but this.
 */
export interface KqHooks {
  /**
   * Called for each pushed message, in the caller's context, before it is sent. Headers it writes travel with the message, in
   * addition to its own. If it throws, the push is `KQ_BAD_MESSAGE`. Not called for dead letters and replays, which keep their
   * headers.
   */
  onPush?(headers: Record<string, string>, message: PushedTo): void;
  /**
   * Called around each call of `push` and `pushMany`, but not for a push with `delay` or `at`, which stores a job. Must call
   * `next` once and synchronously, in any context, and return its result: what `push` and `pushMany` resolve with.
   */
  aroundPush?<T extends Pushed | PushResult[]>(call: KqPushCall, next: () => Promise<T>): Promise<T>;
  /**
   * Called around each call of a handler, including its guards, pipes and filters. Must call `next` once, in any context, and
   * return its result. Throwing or returning something else counts as the handler's result.
   */
  aroundHandler?(run: KqRun, next: () => unknown): unknown;
  /**
   * Called once, before anything of the cluster starts. The returned function is called when the module is closed. If the hook
   * throws, the application fails to start.
   */
  onStart?(cluster: KqClusterView): (() => void) | void;
}

/** A cluster as a hook sees it. */
export interface KqClusterView {
  /** Undefined for the cluster without a name. */
  readonly name: string | undefined;
  /** The option `clientId`. */
  readonly clientId: string;
  /** Events of this process. */
  readonly events: KqEvents;
  /** Returns what this process knows now, without asking the brokers. */
  readonly load: () => KqLoad;
}

/** The current load of this process. */
export interface KqLoad {
  /** Number of pushed messages waiting for an answer, except those in transactions. */
  readonly pushing: number;
  /** Load by group. */
  readonly groups: readonly KqGroupLoad[];
}

/** A group, as this process sees it. */
export interface KqGroupLoad {
  /** Group name. */
  readonly group: string;
  /** Whether this process is in the group. */
  readonly up: boolean;
  /** Number of handler calls that haven't returned. */
  readonly running: number;
  /** Partitions of this process. */
  readonly partitions: readonly KqPartitionLoad[];
}

/** A partition of this process. */
export interface KqPartitionLoad {
  /** Topic name. */
  readonly topic: string;
  /** Partition number, from 0. */
  readonly partition: number;
  /** Number of unhandled messages as of the last fetch, including gaps. Absent if nothing was fetched yet. */
  readonly lag?: number;
}

/** Returns what hooks and events see of a message. The options may be invalid, even null. */
export function pushedTo(topic: string, options: MessageOptions | null): PushedTo {
  const key = options?.key;
  return key === undefined ? { topic } : { topic, key };
}

/** The hooks used by a pusher. */
export type PushHooks = Pick<KqHooks, 'onPush' | 'aroundPush'>;

/** Combines hooks: calls all `onPush` and nests all `aroundPush`, the first outermost; absent if there are none. */
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

/** Nests all `aroundHandler`, the first outermost; returns undefined if there are none. */
export function handlerHook(hooks: readonly KqHooks[]): NonNullable<KqHooks['aroundHandler']> | undefined {
  const around = hooks.filter((hook) => hook.aroundHandler !== undefined);
  if (around.length === 0) return undefined;
  return (run, next) => around.reduceRight((inner, hook) => () => hook.aroundHandler!(run, inner), next)();
}

/** Checks hooks; throws `KQ_CONFIG` if they aren't hooks, or a name is misspelled. */
export function checkHooks(hooks: unknown): readonly KqHooks[] {
  return check<KqHooks>(
    hooks,
    ['onPush', 'aroundPush', 'aroundHandler', 'onStart'],
    (what, value, expected) => wrongValue('KQ_CONFIG', what, value, expected),
  );
}
