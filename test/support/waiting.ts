/** Resolves when the condition holds, which is looked at after every few milliseconds; rejects, by name, after `limit` ms. */
export async function eventually(
  what: string,
  condition: () => boolean | Promise<boolean>,
  limit = 30_000,
): Promise<void> {
  const end = performance.now() + limit;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`not within ${limit} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
