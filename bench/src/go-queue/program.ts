import { ensureGoQueue } from 'test-servers';

export const GO_QUEUE = 'go-queue';

/** Returns the Go program. Without Go, reports that on stderr and returns undefined; rows compared with go-queue are left out then. */
export async function goQueueIfHere(): Promise<string | undefined> {
  const program = await ensureGoQueue();
  if (program === undefined)
    process.stderr.write('Go is not installed, so there are no rows for go-queue.\n');
  return program;
}
