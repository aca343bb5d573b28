import { signal } from '@preact/signals';

/** Outcome of the last act, shown briefly. */
export const notice = signal<{ readonly text: string; readonly bad: boolean } | undefined>(undefined);

const SHOWN_FOR = 6_000;
let timer: ReturnType<typeof setTimeout> | undefined;

/** Reports what nobody else does. */
export function reportFailure(error: Error): void {
  tell(error.message, true);
}

export function tell(text: string, bad = false): void {
  notice.value = { text, bad };
  clearTimeout(timer);
  timer = setTimeout(() => (notice.value = undefined), SHOWN_FOR);
}
