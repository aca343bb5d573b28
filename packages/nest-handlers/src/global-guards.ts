import type { CanActivate, LoggerService } from '@nestjs/common';
import type { ApplicationConfig } from '@nestjs/core';
import type { HandlerKind } from './handler-kind.js';
import type { FoundMethod } from './marked-methods.js';

/** Metadata set by Nest, TypeScript and this package, which never opts a handler out of a guard. */
const USUAL = /^(?:__.*|design:.*|nest-handlers:.*|self:.*|scope:options|path|host|version|method)$/;

/**
 * Global guards also apply to handlers. A guard written for requests refuses every item, or counts it as a request, and its error
 * doesn't say why. So this class warns at startup.
 */
export class GlobalGuards {
  private handlers: string[] = [];

  constructor(
    private readonly config: ApplicationConfig,
    private readonly kind: HandlerKind,
    private readonly logger: Pick<LoggerService, 'warn'>,
  ) {}

  bound({ instance, method, key }: FoundMethod): void {
    const { constructor } = instance;
    if (!mayOptOut(method) && !mayOptOut(constructor))
      this.handlers.push(`${constructor.name}.${String(key)}`);
  }

  advise(): void {
    const handlers = this.handlers.splice(0);
    const types = [
      ...this.config
        .getGlobalGuards()
        .filter((guard) => !letsPass(guard))
        .map((guard): Function => guard.constructor),
      ...this.config.getGlobalRequestGuards().map(({ metatype }) => metatype),
    ].filter((type) => type !== null);
    const { item, contextCheck } = this.kind;
    const unaware = types.filter((type) => !mentions(type, contextCheck)).map(({ name }) => name);
    if (unaware.length === 0 || handlers.length === 0) return;
    const guards = `the global guard${unaware.length > 1 ? 's' : ''} ${unaware.join(', ')}`;
    this.logger.warn(
      `${guards} also run${unaware.length > 1 ? '' : 's'} before each ${item} of ${handlers.join(', ')}, where there is no request: ` +
        `return true from canActivate when ${contextCheck}(context)`,
    );
  }
}

/** Whether it's an object in the place of a guard that takes no context, such as `{ canActivate: () => true }` of nestjs-cls. */
function letsPass(guard: CanActivate): boolean {
  return guard.constructor === Object && guard.canActivate.length === 0;
}

/** Whether it has metadata a guard may look for, such as that of a decorator `@Public()`. */
function mayOptOut(target: Function): boolean {
  return Reflect.getMetadataKeys(target).some((key: unknown) => typeof key !== 'string' || !USUAL.test(key));
}

/** Whether the code of a guard, or of a class it extends, checks the kind of its context. */
function mentions(type: Function, contextCheck: string): boolean {
  for (
    let each: unknown = type;
    typeof each === 'function' && each.name !== '';
    each = Object.getPrototypeOf(each)
  ) {
    const code = Function.prototype.toString.call(each);
    if (code.includes(contextCheck) || code.includes('getType')) return true;
  }
  return false;
}
