// Times as people read them, by the clock of the viewer: that of the browser's zone, or UTC.
import { dateFormat } from './formats.js';
import { zone, zoneName } from './zone.js';

const DAY = 86_400_000;

/** Milliseconds by which UTC is ahead of the clock of the viewer at a time: their zone may have summer and winter. */
export function offsetAt(at: number): number {
  return zone.value === 'utc' ? 0 : new Date(at).getTimezoneOffset() * 60_000;
}

/** Returns a Date whose UTC fields have what the viewer's clock shows. */
function shownAt(at: number): Date {
  return new Date(at - offsetAt(at));
}

/** The time of day if that is today, else with the date; with the year if that is another one. */
export function timeText(
  at: number,
  now: number,
  language: string,
  smallest: 'second' | 'minute' = 'second',
): string {
  const seconds = smallest === 'second' ? ({ second: '2-digit' } as const) : {};
  const clock = { hour: '2-digit', minute: '2-digit', ...seconds, hourCycle: 'h23' } as const;
  const [shown, today] = [shownAt(at), shownAt(now)];
  if (Math.floor(shown.getTime() / DAY) === Math.floor(today.getTime() / DAY))
    return format(at, language, clock);
  const sameYear = shown.getUTCFullYear() === today.getUTCFullYear();
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
  const midnight = Math.floor(shownAt(at).getTime() / 1_000) % (DAY / 1_000) === 0;
  if (every >= DAY || midnight) return format(at, language, { month: 'short', day: 'numeric' });
  const seconds = every < 60_000 ? ({ second: '2-digit' } as const) : {};
  return format(at, language, { hour: '2-digit', minute: '2-digit', ...seconds, hourCycle: 'h23' });
}

/** As a field for times has it: by the viewer's clock, to a second. Empty for no time. */
export function fieldText(iso: string | undefined): string {
  const at = iso === undefined ? NaN : Date.parse(iso);
  if (Number.isNaN(at)) return '';
  return shownAt(at).toISOString().slice(0, 19);
}

/** The ISO text of what such a field has; undefined if it is empty. */
export function fromField(text: string): string | undefined {
  const at = Date.parse(zone.value === 'utc' && text !== '' ? `${text}Z` : text);
  return Number.isNaN(at) ? undefined : new Date(at).toISOString();
}

function format(at: number, language: string, options: Intl.DateTimeFormatOptions): string {
  return dateFormat(language, { ...options, timeZone: zoneName() }).format(at);
}

/** The zone of the browser with its offset from UTC at a time, such as `Europe/Berlin (GMT+1)`. */
export function browserZoneText(at: number, language: string): string {
  const options = { timeZoneName: 'shortOffset' } as const;
  const part = dateFormat(language, options)
    .formatToParts(at)
    .find(({ type }) => type === 'timeZoneName');
  const { timeZone } = dateFormat(language, {}).resolvedOptions();
  return timeZone === 'UTC' ? timeZone : `${timeZone} (${part?.value})`;
}
