import { setTimeout as pause } from 'node:timers/promises';

/** Resolves at an instant of the machine's clock. Only for a timetable: never wait for a result in this way. */
export async function until(instant: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const ms = instant - Date.now();
  if (ms > 0) await pause(ms, undefined, { signal });
}

/** Makes calls at a steady rate between two instants, without waiting for the answers. Resolves when all answers are there. */
export async function atPace<T>(
  count: number,
  { from, to, signal }: { readonly from: number; readonly to: number; readonly signal: AbortSignal },
  call: (i: number) => Promise<T>,
): Promise<T[]> {
  const answers: Promise<T>[] = [];
  for (let i = 0; i < count; i++) {
    await until(from + ((to - from) * i) / count, signal);
    const answer = call(i);
    answer.catch(() => undefined); // reported at the end, with the others
    answers.push(answer);
  }
  return Promise.all(answers);
}
