import { defineTube } from 'nest-dq';

/** What the handler does in one attempt, chosen by the payload. Nothing given: it succeeds at once. */
export interface Act {
  /** Milliseconds of work before it ends. @default 0 */
  readonly ms?: number;
  /** Blocks the event loop instead of awaiting. @default false */
  readonly blocking?: boolean;
  /** Works on when its signal is aborted; otherwise it then throws the signal's reason. @default false */
  readonly deaf?: boolean;
  /** `kill`: its process, by SIGKILL. @default 'done' */
  readonly end?: 'done' | 'fail' | 'discard' | 'kill';
}

/** The payload of every job. */
export interface Task {
  /** Its number in the outside log. */
  readonly job: number;
  /** Which schedule of that job: 0 is the add, each reschedule or replacement brings the next. */
  readonly generation: number;
  /** One for each attempt; the last is for all that follow. Empty: it succeeds at once. */
  readonly acts: readonly Act[];
}

export const TASKS = defineTube<Task>('tasks');
