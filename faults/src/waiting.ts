import { setTimeout as pause } from 'node:timers/promises';

/** Resolves at an instant of the machine's clock. For the timetable of an experiment, never for its results. */
export async function until(instant: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const ms = instant - Date.now();
  if (ms > 0) await pause(ms, undefined, { signal });
}

/** Calls at even distances between two instants, without waiting for the answers; resolves when all are there. */
export async function atPace<T>(
  count: number,
  { from, to, signal }: { readonly from: number; readonly to: number; readonly signal: AbortSignal },
  call: (i: number) => Promise<T>,
): Promise<T[]> {
  const answers: Promise<T>[] = [];
  for (let i = 0; i < count; i++) {
    await until(from + ((to - from) * i) / count, signal);
    answers.push(call(i));
  }
  return Promise.all(answers);
}
