/** More would only be read after more pages were visited than one remembers. */
const MAX = 50;

/** Data, and when it was read by the server's clock in ms. */
interface Read {
  readonly data: unknown;
  readonly asOf: number;
}

const reads = new Map<string, Read>();

/** Keeps what was read in this tab, so that a page opened in an outage shows what it had before. */
export function noteRead(about: string, read: Read): void {
  if (about === '') return;
  reads.delete(about); // so that it becomes the latest
  reads.set(about, read);
  if (reads.size > MAX) reads.delete(reads.keys().next().value!);
}

/** The last data about this, if it was read. */
export function lastRead(about: string): Read | undefined {
  return reads.get(about);
}
