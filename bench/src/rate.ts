/** Does something with a number of jobs. Resolves with the jobs a second. */
export async function rate(jobs: number, act: () => Promise<void>): Promise<number> {
  const from = performance.now();
  await act();
  return (1000 * jobs) / (performance.now() - from);
}
