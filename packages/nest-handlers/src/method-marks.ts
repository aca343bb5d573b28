import type { HandlerKind } from './handler-kind.js';

/** Prefix of all metadata keys of this package, the same in every copy an application may have. */
const OURS = 'nest-handlers:';

/** Nest applies global request-scoped enhancers only to classes with this metadata. */
const HANDLES = '__entryProvider__';

/**
 * The methods a decorator accepts: no generators, since their bodies would never run.
 * @typeParam M The type of the method.
 */
export type HandlerDescriptor<M extends (...args: any[]) => unknown> = [ReturnType<M>] extends [never]
  ? TypedPropertyDescriptor<M>
  : ReturnType<M> extends Generator | AsyncGenerator
    ? TypedPropertyDescriptor<M> & { 'expected a method without *': never }
    : TypedPropertyDescriptor<M>;

/** A mark as set by a decorator. A decorator above it may replace `method`. */
interface Note<Mark> {
  readonly mark: Mark;
  readonly method: Function;
  /** The decorator as written. */
  readonly shown: string;
}

/**
 * Marks put on methods by one kind of decorator, for `MarkedMethods` to find. A method may have several. For methods that run
 * items use `HandlerMarks`; this class is for all others, such as listeners.
 */
export class MethodMarks<Mark> {
  private readonly key: string;

  /** `name`: distinguishes them from other marks of the same kind. */
  constructor(
    /** The kind they belong to. */
    readonly kind: HandlerKind,
    name: string,
  ) {
    this.key = `${OURS}${kind.context}:${name}`;
  }

  /**
   * For decorators. Throws the kind's configuration error if the decorator isn't on an instance method.
   * @param shown The decorator as written, for messages.
   */
  add(
    mark: Mark,
    shown: string,
    target: object,
    method: string | symbol,
    descriptor: PropertyDescriptor | undefined,
  ): void {
    const value: unknown = descriptor?.value;
    const isStatic = typeof target === 'function';
    if (isStatic || typeof value !== 'function') {
      const where = `${(isStatic ? target : target.constructor).name}.${String(method)}`;
      const cause = isStatic ? 'is static' : 'is a property, not a method (perhaps an arrow function)';
      throw this.kind.configError(
        `${shown} is on ${where}, which ${cause}: expected an instance method, such as ` +
          `\`async ${String(method)}(…) {…}\``,
      );
    }
    // The mark on the function is found if the function is copied to another class, the mark by place if the function is
    // replaced.
    Reflect.defineMetadata(this.key, [mark, ...this.onFunction(value)], value);
    const notes = [{ mark, method: value, shown }, ...this.notes(target, method)];
    Reflect.defineMetadata(this.key, notes, target, method);
  }

  /**
   * For `MarkedMethods`: returns the marks of a property of a prototype, possibly a method. Throws the kind's configuration
   * error if a decorator above has replaced the method by something else, or by a function without the metadata of the
   * decorators below, such as guards.
   * @param value Its current value.
   * @param name For messages.
   */
  of(prototype: object, key: string | symbol, value: unknown, name: string): readonly Mark[] {
    const notes = this.notes(prototype, key);
    if (typeof value !== 'function') {
      if (notes.length === 0) return [];
      throw this.lost(name, notes[0]!, 'turned the method into a getter or a value', 'make it keep a method');
    }
    for (const note of notes) {
      const missing = missingKeys(note.method, value);
      if (missing.length === 0) continue;
      throw this.lost(
        name,
        note,
        `replaced the method with a function that lacks metadata of decorators (${missing.map(String).join(', ')})`,
        'move it below them, or make it copy their metadata',
      );
    }
    const marks = notes.map(({ mark }) => mark);
    return [...marks, ...this.onFunction(value).filter((mark) => !marks.includes(mark))];
  }

  private onFunction(method: Function): readonly Mark[] {
    return (Reflect.getMetadata(this.key, method) as readonly Mark[] | undefined) ?? [];
  }

  private notes(prototype: object, key: string | symbol): readonly Note<Mark>[] {
    return (Reflect.getOwnMetadata(this.key, prototype, key) as Note<Mark>[] | undefined) ?? [];
  }

  private lost(name: string, { shown }: Note<unknown>, what: string, advice: string): Error {
    return this.kind.configError(`${name}: a decorator above ${shown} ${what}; ${advice}`);
  }
}

/** Marks of methods that run items: global enhancers that aren't singletons apply to their classes, too. */
export class HandlerMarks<Mark> extends MethodMarks<Mark> {
  override add(
    mark: Mark,
    shown: string,
    target: object,
    method: string | symbol,
    descriptor: PropertyDescriptor | undefined,
  ): void {
    super.add(mark, shown, target, method, descriptor);
    Reflect.defineMetadata(HANDLES, true, target.constructor);
  }
}

/** Returns the metadata keys that the new function lacks, except for our marks, which are also found by place. */
function missingKeys(marked: Function, present: Function): unknown[] {
  if (marked === present) return [];
  const kept = new Set<unknown>(Reflect.getMetadataKeys(present));
  const keys: unknown[] = Reflect.getOwnMetadataKeys(marked);
  return keys.filter((key) => !kept.has(key) && !String(key).startsWith(OURS));
}
