/**
 * For a test that Jest ends after `limit` ms. The search for the smallest failure ends before that, because otherwise Jest
 * reports only a timeout and not the failure.
 */
export function inTimeFor(limit: number) {
  return { interruptAfterTimeLimit: limit - 60_000, markInterruptAsFailure: true };
}
