/** What users do who add many jobs one by one. */
export const IN_FLIGHT = 256;

/** Runs the task once for each item, that many at a time; rejects with the first that fails. */
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
