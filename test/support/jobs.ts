import { expect } from '@jest/globals';
import type { DelayedJob, JobReceipt } from 'nest-dq/src/api/job.js';
import { countCopies } from './copies.js';
import type { System } from './system.js';

/** One start of a handler. */
export interface Start {
  readonly id: string;
  /** The index of the copy that it ran from; 0 is the primary. */
  readonly copy: number;
  readonly attempt: number;
  readonly fence: number;
  /** Milliseconds. A negative lateness would mean that the job was early. */
  readonly lateness: number;
  /** By this machine's clock, in milliseconds. */
  readonly at: number;
}

export function startOf(job: DelayedJob): Start {
  const { id, attempt, fence, lateness } = job;
  return { id, attempt, fence, lateness, copy: copyOf(job), at: Date.now() };
}

/** Consumes a tube and notes each start. */
export async function record(
  { consumer }: System,
  tube: string,
  starts: Start[],
  concurrency = 50,
): Promise<void> {
  await consumer.consume(tube, (_payload, job) => void starts.push(startOf(job)), { concurrency });
}

export async function schedule(
  { producer }: System,
  tube: string,
  count: number,
  due: (i: number) => number,
): Promise<JobReceipt[]> {
  return Promise.all(
    Array.from({ length: count }, (_, i) => producer.at(tube, { i }, due(i), { allowPast: true })),
  );
}

/** Expects that each job was started once, and none was early. */
export function expectOnceEach(starts: readonly Start[], receipts: readonly JobReceipt[]): void {
  const ids = starts.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  expect(new Set(ids)).toEqual(new Set(receipts.map(({ id }) => id)));
  expect(starts.filter(({ lateness }) => lateness < 0)).toEqual([]);
}

/** Whether no node has a copy in the tube. False while a node is down. */
export async function isEmpty({ nodes }: System, tube: string): Promise<boolean> {
  if (!nodes.every(({ up }) => up)) return false;
  const counts = await Promise.all(nodes.map((node) => countCopies(node, tube)));
  return counts.every((count) => count === 0);
}

/** The index of the copy of a job. A primary names all of its siblings, a backup names none. */
function copyOf(job: DelayedJob): number {
  const places = (JSON.parse(Buffer.from(job.ref.slice(4), 'base64url').toString()) as unknown[])[5];
  return (places as [number, string][])[0]![0];
}
