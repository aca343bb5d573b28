import { ForbiddenException, type LoggerService } from '@nestjs/common';
import type { Enhancers } from './enhancers.js';
import type { HandlerKind } from './handler-kind.js';

/** The message of Nest's error when a guard returned false. */
const REFUSED = 'Forbidden resource';

/**
 * Guards, interceptors and filters written for requests fail on items with errors that don't say why. This logs which one failed
 * and what to do, once per enhancer and handler.
 */
export class EnhancerAdvice {
  private readonly warned = new Set<string>();

  constructor(
    private readonly kind: HandlerKind,
    private readonly logger: Pick<LoggerService, 'warn'>,
    private readonly enhancers: Enhancers,
    /** Class and method of the handler. */
    private readonly type: string,
    private readonly method: string,
  ) {}

  /** Called when a filter threw a different error than the one it was given. */
  filterThrew(thrown: unknown): void {
    const { item, contextCheck } = this.kind;
    const { message, stack = '' } = this.kind.readError(thrown);
    const { filters } = this.enhancers;
    const who = filters.find((name) => passed(name, stack)) ?? orOf(filters);
    this.warn(
      `the exception filter ${who} failed on a ${item}`,
      ` (the original error is kept): ${message}. Make it rethrow the given error when ${contextCheck}(host) is true`,
    );
  }

  /**
   * Called when an attempt failed, perhaps because a guard or an interceptor expected a request.
   * @param returned Whether the handler had returned by then; if so, only an interceptor can have failed.
   * @param admitted Whether the guards had let it pass; if not, one of them failed.
   */
  attemptFailed(thrown: unknown, returned: boolean, admitted = true): void {
    const { item, contextCheck } = this.kind;
    const { guards, interceptors } = this.enhancers;
    if (guards.length > 0 && thrown instanceof ForbiddenException && thrown.message === REFUSED) {
      const who = guards.length === 1 ? guards[0] : `one of ${guards.join(', ')}`;
      return this.warn(
        `the guard ${who} refused a ${item}`,
        `. Global guards also run before ${item}s; detect those with ${contextCheck}(context)`,
      );
    }
    const { message, stack = '' } = this.kind.readError(thrown);
    if (!admitted) {
      const who = guards.find((name) => passed(name, stack)) ?? orOf(guards);
      return this.warn(
        `the guard ${who} failed on a ${item}`,
        `: ${message}. Global guards also run before ${item}s; detect those with ${contextCheck}(context)`,
      );
    }
    if (!(thrown instanceof Error) || thrown.name !== 'TypeError') return;
    if (!returned && passed(this.type, stack)) return; // the handler's own error
    const guard = guards.find((name) => passed(name, stack));
    const named = interceptors.find((name) => passed(name, stack));
    // A function in an RxJS operator has no class in its stack.
    const interceptor = named ?? (returned && interceptors.length > 0 ? orOf(interceptors) : undefined);
    if (guard === undefined && interceptor === undefined) return;
    this.warn(
      `the ${guard ? `guard ${guard}` : `interceptor ${interceptor}`} failed on a ${item}`,
      `: ${message}. If it expects a request, skip that when ${contextCheck}(context) is true`,
    );
  }

  private warn(what: string, more: string): void {
    if (this.warned.has(what)) return;
    this.warned.add(what);
    this.logger.warn(`${what} of ${this.type}.${this.method}${more}`);
  }
}

function orOf(names: readonly string[]): string {
  return [...new Set(names)].join(' or ');
}

/** Whether a stack passes through a class. Source maps may change method names, so only the class is compared. */
function passed(type: string, stack: string): boolean {
  return stack.includes(`at ${type}.`) || stack.includes(`at async ${type}.`);
}
