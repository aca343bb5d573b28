import type { ComponentChildren } from 'preact';

/** A value; what is not there, or is 0, stands back behind what is. */
export function quietly(value: ComponentChildren): ComponentChildren {
  return value === '–' || value === '0' ? <span class="zero">{value}</span> : value;
}
