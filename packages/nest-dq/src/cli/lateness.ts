import { span } from 'nest-handlers/cli';
import type { Capacity } from '../operate/capacity.js';
import type { Forecast } from '../operate/forecast.js';

const PER_MINUTE = new Intl.NumberFormat('en', { maximumFractionDigits: 1 });

/** Says the capacity of a tube, and when its jobs will start late. Nothing if the capacity isn't known. */
export function latenessLines({ capacity, late, overdue, stopped }: Forecast): string[] {
  if (stopped !== undefined)
    return [stopped === 'paused' ? 'paused: nothing runs until it is resumed' : 'no process consumes it'];
  if (!capacity) return [];
  const lines = [`capacity ${capacityText(capacity)}`];
  if (overdue > 0) lines.push(`overdue now: ${overdue}`);
  for (const { from, to, upTo } of late)
    lines.push(`late: ${shown(from)} to ${shown(to)}, up to ${span(upTo)}`);
  if (late.length === 0) lines.push('late: none by more than a minute');
  return lines;
}

function capacityText(capacity: Capacity): string {
  const { perMinute } = capacity;
  const how = capacity.by === 'limit' ? 'rate limit' : `measured at ${shown(capacity.at)}`;
  return `${PER_MINUTE.format(perMinute)} jobs a minute (${how})`;
}

function shown(at: Date): string {
  return at.toISOString().replace(/\.\d+Z$/, 'Z');
}
