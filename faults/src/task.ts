import { defineTube, type Tube } from 'nest-dq';
import type { TubeWire } from 'nest-dq/go-queue';

/** One attempt of the handler. With no field set, it succeeds at once. */
export interface Act {
  /** Milliseconds of work before it ends. @default 0 */
  readonly ms?: number;
  /** Blocks the event loop instead of awaiting. @default false */
  readonly blocking?: boolean;
  /** Continues after its signal aborted. Without this, it throws the reason of the signal then. @default false */
  readonly deaf?: boolean;
  /** `kill`: it kills its process with SIGKILL. @default 'done' */
  readonly end?: 'done' | 'fail' | 'discard' | 'kill';
}

/** The payload of every job. */
export interface Task {
  /** Its number in the outside log. */
  readonly job: number;
  /** The number of the schedule: 0 for the add, and one more for each reschedule or replacement. */
  readonly generation: number;
  /** One for each attempt. All later attempts do the last one again. Empty: the handler succeeds at once. */
  readonly acts: readonly Act[];
  /** A string that nobody without a key may read. @default none */
  readonly secret?: string;
}

export const TASKS = defineTube<Task>('tasks');
/** The same, as a tube that services with go-queue use. */
export const SHARED_TASKS = defineTube<Task>('tasks', { wire: 'go-queue' });

export function tasks(wire: TubeWire | undefined): Tube<Task, Task> {
  return wire === undefined ? TASKS : SHARED_TASKS;
}
