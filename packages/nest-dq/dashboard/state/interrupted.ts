import { signal } from '@preact/signals';
import type { BulkAct } from '../server/requests.js';

/** An act on many that has not come to its end. */
export interface Interrupted {
  readonly bulk: BulkAct;
  /** The same of other tubes, still to come. */
  readonly rest: readonly BulkAct[];
  /** Cursor at which it continues; absent if it is yet to begin. */
  readonly cursor?: string | undefined;
  /** How many it has changed. */
  readonly done: number;
}

/** Storage key, unique to this dashboard because another one may have the same origin. The entry lasts as long as the tab. */
const NAME = `nest-dq.interrupted ${location.pathname}`;

/** The last act of this tab that was interrupted, also by leaving the page. */
export const interrupted = signal<Interrupted | undefined>(readStored());

/** Stores the interrupted act; undefined clears it. */
export function noteInterrupted(act: Interrupted | undefined): void {
  interrupted.value = act;
  if (act) sessionStorage.setItem(NAME, JSON.stringify(act));
  else sessionStorage.removeItem(NAME);
}

function readStored(): Interrupted | undefined {
  const text = sessionStorage.getItem(NAME);
  return text === null ? undefined : (JSON.parse(text) as Interrupted);
}
