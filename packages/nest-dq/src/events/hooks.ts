import type { DqEvents } from './events.js';
import { wrongValue } from '../errors.js';
import type { DelayedJob, HandlerMethod } from '../api/job.js';

/** The job that is about to be scheduled, as far as hooks see it. */
export interface ScheduledTo {
  /** Without the prefix. */
  readonly tube: string;
  /** Absent for a plain job. */
  readonly key?: string;
}

/**
 * Carries what surrounds a call (a trace, a tenant, a logger's context) from where a job is scheduled to where it runs.
 * Given as the module's option `hooks`. `nest-dq/opentelemetry` is made of nothing else.
 */
export interface DqHooks {
  /**
   * At each add, in the caller's context, before anything is stored: what it writes into the headers travels with the job,
   * beside those it has. What it throws fails that add. A reschedule, a retry and `Again` keep the headers of the add.
   */
  onSchedule?(headers: Record<string, string>, job: ScheduledTo): void;
  /**
   * Around each run of a handler, with its guards, pipes and filters: calls `next` once, in whatever context it likes, and
   * returns what that returned. What it throws or returns instead counts as the handler's.
   */
  aroundHandler?(job: DelayedJob, next: () => unknown): unknown;
  /**
   * Once, before anything of the cluster starts. What it returns is called when the module is closed. What it throws fails
   * the start of the application.
   */
  onStart?(cluster: DqClusterView): (() => void) | void;
}

/** A cluster as a hook sees it. */
export interface DqClusterView {
  /** Undefined: the one without a name. */
  readonly name: string | undefined;
  /** Those of this process. */
  readonly events: DqEvents;
  /** What is known at this moment without asking anybody. */
  readonly load: () => DqLoad;
}

/** What this process has at hand. */
export interface DqLoad {
  /** By endpoint: whether the node answers. */
  readonly nodes: Readonly<Record<string, boolean>>;
  /** Of each tube that has a handler here. */
  readonly tubes: readonly {
    /** Without the prefix. */
    readonly tube: string;
    /** Handlers that have not returned. */
    readonly running: number;
    /** Copies in hand that are early, or due without a slot. */
    readonly held: number;
  }[];
  /** Jobs whose copies were deleted by this process so lately that the ledger still remembers the jobs for that. */
  readonly owed: number;
}

type OnSchedule = NonNullable<DqHooks['onSchedule']>;
type Around = (handler: HandlerMethod) => HandlerMethod;

/** All that is called at an add; undefined where nothing is. */
export function scheduleHook(hooks: readonly DqHooks[]): OnSchedule | undefined {
  const asked = hooks.filter((hook) => hook.onSchedule !== undefined);
  if (asked.length === 0) return undefined;
  return (headers, job) => {
    for (const hook of asked) hook.onSchedule!(headers, job);
  };
}

/** Puts all that surrounds handlers around one, the first hook outermost; undefined where nothing does. */
export function handlerHook(hooks: readonly DqHooks[]): Around | undefined {
  const around = hooks.filter((hook) => hook.aroundHandler !== undefined);
  if (around.length === 0) return undefined;
  return (handler) =>
    around.reduceRight<HandlerMethod>(
      (inner, hook) => (payload, job) => hook.aroundHandler!(job, () => inner(payload, job)),
      handler,
    );
}

/** `DQ_CONFIG`: not hooks, or one that is misspelt. */
export function checkHooks(hooks: unknown): readonly DqHooks[] {
  const names = ['onSchedule', 'aroundHandler', 'onStart'] as const;
  const expected = `a list of objects with the methods ${names.join(', ')}, or some of them`;
  if (!Array.isArray(hooks)) throw wrongValue('DQ_CONFIG', '`hooks`', hooks, expected);
  hooks.forEach((hook: unknown, index) => {
    const methods = typeof hook === 'object' && hook !== null ? (hook as Record<string, unknown>) : {};
    const given = names.filter((name) => methods[name] !== undefined);
    if (given.length > 0 && given.every((name) => typeof methods[name] === 'function')) return;
    throw wrongValue('DQ_CONFIG', `\`hooks[${index}]\``, hook, expected);
  });
  return hooks as readonly DqHooks[];
}
