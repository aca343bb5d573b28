import { wrongValue } from '../errors.js';

/** A class of errors. */
export type ErrorClass = abstract new (...args: any[]) => Error;

/** A choice of errors: a class, several classes, or a predicate. */
export type ErrorChoice = ErrorClass | readonly ErrorClass[] | ((error: Error) => boolean);

/**
 * Returns a predicate for the choice, undefined if none was given; `KQ_BAD_OPTION`. The predicate throws if the given function
 * does.
 */
export function errorMatcher(what: string, given: unknown): ((error: Error) => boolean) | undefined {
  if (given === undefined) return undefined;
  if (typeof given === 'function' && !isClass(given)) return (error) => Boolean(given(error));
  const classes: readonly unknown[] = Array.isArray(given) ? given : [given];
  const wrong = classes.find((each) => !isErrorClass(each));
  if (wrong !== undefined || classes.length === 0)
    throw wrongValue('KQ_BAD_OPTION', what, given, 'error classes, or a function that takes an error');
  return (error) => (classes as readonly ErrorClass[]).some((each) => error instanceof each);
}

function isErrorClass(value: unknown): value is ErrorClass {
  return value === Error || (typeof value === 'function' && value.prototype instanceof Error);
}

/** Whether it is a class, even of something other than errors, which couldn't be called. */
function isClass(value: Function): boolean {
  return isErrorClass(value) || /^class\b/.test(Function.prototype.toString.call(value));
}
