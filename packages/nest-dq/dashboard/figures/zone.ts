import { signal } from '@preact/signals';

/** Zone of all times shown: the browser's, or UTC. */
export const zone = signal<'browser' | 'utc'>('browser');

/** For Intl; undefined for the browser's zone. */
export function zoneName(): 'UTC' | undefined {
  return zone.value === 'utc' ? 'UTC' : undefined;
}
