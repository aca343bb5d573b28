import { setTimeout as pause } from 'node:timers/promises';
import { machineTime } from './clock.js';

export { pause };

/** `instant`: ms since 1970. */
export async function pauseUntil(instant: number): Promise<void> {
  await pause(Math.max(0, instant - machineTime()));
}
