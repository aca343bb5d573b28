/** How many calls a user who adds jobs one by one may have in flight. */
export const IN_FLIGHT = 256;

/** Runs the task once for each item, `limit` tasks at a time. Rejects when the first task fails. */
export async function inFlight<T>(
  items: readonly T[],
  task: (item: T) => Promise<unknown>,
  limit = IN_FLIGHT,
): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < items.length) await task(items[next++]!);
  };
  await Promise.all(Array.from({ length: limit }, worker));
}
