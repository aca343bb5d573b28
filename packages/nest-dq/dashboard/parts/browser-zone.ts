import { browserZoneText } from '../figures/times.js';
import { now } from '../state/live.js';
import { language } from '../words/language.js';

const HOUR = 3_600_000;

/** Name of the browser's zone, with its present offset, which may change in spring and autumn. */
export function browserZone(): string {
  return browserZoneText(Math.floor(now.value / HOUR) * HOUR, language.value);
}
