import { Reflector } from '@nestjs/core';
import { DqError } from '../errors.js';

const reflector = new Reflector();

/** What decorators of one kind say on methods; a method may have several. */
export class MethodMarks<Mark> {
  private readonly decorate;

  /** `key`: the same in every copy of this library that an application may have. */
  constructor(key: string) {
    this.decorate = Reflector.createDecorator<readonly Mark[]>({ key });
  }

  /** To be called by a decorator, `shown` as it is written. `DQ_CONFIG` where it stands on no method of instances. */
  add(
    mark: Mark,
    shown: string,
    target: object,
    method: string | symbol,
    descriptor: PropertyDescriptor | undefined,
  ): void {
    const value: unknown = descriptor?.value;
    if (!descriptor || typeof target === 'function' || typeof value !== 'function') {
      throw new DqError(
        'DQ_CONFIG',
        `${shown} stands on \`${String(method)}\`: expected a method that is not static`,
      );
    }
    this.decorate([mark, ...this.of(value)])(target, method, descriptor);
  }

  of(method: Function): readonly Mark[] {
    return reflector.get(this.decorate, method) ?? [];
  }
}
