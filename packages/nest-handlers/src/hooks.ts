/** Returns the error for a wrong value: what it is, the value, and what was expected. */
export type WrongValue = (what: string, value: unknown, expected: string) => Error;

/**
 * Checks the option `hooks`: a list of objects, each with at least one of these methods, so that an object with only a misspelled
 * method is refused.
 */
export function checkHooks<Hooks extends object>(
  hooks: unknown,
  names: readonly (keyof Hooks & string)[],
  wrong: WrongValue,
): readonly Hooks[] {
  const expected = `a list of objects with at least one of the methods ${names.join(', ')}`;
  if (!Array.isArray(hooks)) throw wrong('`hooks`', hooks, expected);
  hooks.forEach((hook: unknown, index) => {
    const methods = typeof hook === 'object' && hook !== null ? (hook as Record<string, unknown>) : {};
    const given = names.filter((name) => methods[name] !== undefined);
    if (given.length > 0 && given.every((name) => typeof methods[name] === 'function')) return;
    throw wrong(`\`hooks[${index}]\``, hook, expected);
  });
  return hooks as readonly Hooks[];
}
