import { session } from '../state/session.js';

/** Name of the environment in its colour; nothing if it has none. */
export function Environment() {
  const { name, tone } = session.value?.environment ?? {};
  return name === undefined ? null : <span class={`environment ${tone}`}>{name}</span>;
}
