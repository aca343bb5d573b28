/** For a test that Jest ends after `limit` ms: the search for the smallest failure ends before, or else nobody is told of the failure. */
export function inTimeFor(limit: number) {
  return { interruptAfterTimeLimit: limit - 60_000, markInterruptAsFailure: true };
}
