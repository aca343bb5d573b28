import { signal } from '@preact/signals';
import { getData } from '../server/requests.js';
import type { ActName, SessionWire } from '../../src/dashboard/wire.js';
import { setNow } from './live.js';

export const session = signal<SessionWire | undefined>(undefined);

/** Loads the viewer's permissions. */
export async function loadSession(): Promise<void> {
  const told = await getData<SessionWire>('session');
  setNow(told.now);
  session.value = told;
}

/** Only what the viewer may do is shown; the server decides again. */
export function may(name: ActName): boolean {
  return session.value?.acts.includes(name) ?? false;
}

/** A title that says in which environment the page is. */
export function inEnvironment(title: string): string {
  const name = session.value?.environment?.name;
  return name === undefined ? title : `${name}: ${title}`;
}
