import { DqError } from '../errors.js';

/** A mark as a decorator set it; `method` may be replaced afterwards by a decorator above. */
interface Note<Mark> {
  readonly mark: Mark;
  readonly method: Function;
  /** The decorator, as it is written. */
  readonly shown: string;
}

/** A property of a prototype: perhaps a method. */
export interface Place {
  readonly prototype: object;
  readonly key: string | symbol;
  /** What is there now. */
  readonly value: unknown;
}

/** The marks that decorators of one kind put on methods. A method may have several. */
export class MethodMarks<Mark> {
  /** `key` is the same in every copy of this library that an application may have. */
  constructor(private readonly key: string) {}

  /** For decorators. `shown`: the decorator as it is written. `DQ_CONFIG`: it is not on an instance method. */
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
    // The mark on the function is found if the function is copied to another class. The one by place is found if it is replaced.
    Reflect.defineMetadata(this.key, [mark, ...this.onFunction(value)], value);
    const notes = [{ mark, method: value, shown }, ...this.notes(target, method)];
    Reflect.defineMetadata(this.key, notes, target, method);
  }

  /**
   * The marks of the method at a place; `name` is for messages. `DQ_CONFIG`: a decorator above has replaced the method by
   * something else, or by a function without the metadata of the decorators below, such as guards.
   */
  of({ prototype, key, value }: Place, name: string): readonly Mark[] {
    const notes = this.notes(prototype, key);
    if (typeof value !== 'function') {
      if (notes.length === 0) return [];
      throw lost(name, notes[0]!, 'made a getter or a value of the method', 'let it leave a method there');
    }
    for (const note of notes) {
      const missing = this.missing(note.method, value);
      if (missing.length === 0) continue;
      throw lost(
        name,
        note,
        `put a function in the place of the method that lacks what decorators said (${missing.map(String).join(', ')})`,
        'put it below them, or let it copy their metadata',
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

  /** Keys of metadata that the new function lacks; not our marks, which are also known by their place. */
  private missing(marked: Function, present: Function): unknown[] {
    if (marked === present) return [];
    const kept = new Set<unknown>(Reflect.getMetadataKeys(present));
    const keys: unknown[] = Reflect.getOwnMetadataKeys(marked);
    return keys.filter((key) => !kept.has(key) && !String(key).startsWith(OURS));
  }
}

/** How the keys of all marks begin. */
const OURS = 'nest-dq:';

function lost(name: string, { shown }: Note<unknown>, what: string, advice: string): DqError {
  return new DqError('DQ_CONFIG', `${name}: a decorator above ${shown} ${what}; ${advice}`);
}
