// Times as people read them, by the clock of the viewer.
import { dateFormat } from './formats.js';

const DAY = 86_400_000;

/** Milliseconds by which UTC is ahead of the clock of the viewer at a time: his zone may have summer and winter. */
export function offsetAt(at: number): number {
  return new Date(at).getTimezoneOffset() * 60_000;
}

/** The time of day if it is within half a day of now, else with the date; with the year if that is another one. */
export function timeText(at: number, now: number, language: string): string {
  const near = Math.abs(at - now) < DAY / 2;
  const clock = { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' } as const;
  if (near) return format(at, language, clock);
  const sameYear = new Date(at).getFullYear() === new Date(now).getFullYear();
  const date = { month: 'short', day: 'numeric', ...(!sameYear && { year: 'numeric' as const }) } as const;
  return format(at, language, { ...date, ...clock });
}

/** Date, time and zone. */
export function fullText(at: number, language: string): string {
  return format(at, language, {
    weekday: 'short',
    year: 'numeric',
    month: 'short',
    day: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23',
    timeZoneName: 'short',
  });
}

/** For axes: with seconds only if bars are shorter than a minute, and the date instead of midnight. */
export function markText(at: number, every: number, language: string): string {
  const time = new Date(at);
  const midnight = time.getHours() === 0 && time.getMinutes() === 0 && time.getSeconds() === 0;
  if (every >= DAY || midnight) return format(at, language, { month: 'short', day: 'numeric' });
  const seconds = every < 60_000 ? ({ second: '2-digit' } as const) : {};
  return format(at, language, { hour: '2-digit', minute: '2-digit', ...seconds, hourCycle: 'h23' });
}

/** As a field for times has it: by the viewer's clock, to a second. Empty for no time. */
export function fieldText(iso: string | undefined): string {
  const at = iso === undefined ? NaN : Date.parse(iso);
  if (Number.isNaN(at)) return '';
  return new Date(at - offsetAt(at)).toISOString().slice(0, 19);
}

/** The ISO text of what such a field has; undefined if it is empty. */
export function fromField(text: string): string | undefined {
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : new Date(at).toISOString();
}

function format(at: number, language: string, options: Intl.DateTimeFormatOptions): string {
  return dateFormat(language, options).format(at);
}
