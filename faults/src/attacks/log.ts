import type { BadSeal } from 'nest-dq/operate';
import type { Line } from '../log.js';

/** A handler was called with this payload, whatever it is. */
export interface Seen {
  readonly what: 'seen';
  readonly tube: string;
  /** JSON */
  readonly payload: string;
}

/** A copy did not run, because of its seal. */
export interface Refused extends BadSeal {
  readonly what: 'refused';
}

export type AttackedLine = Line | Seen | Refused;
