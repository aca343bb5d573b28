import { fromNow, fullTime, time } from '../words/say.js';

/** A time by the viewer's clock; with the pointer on it also in UTC. */
export function Time({ at, relative }: { readonly at: string; readonly relative?: boolean }) {
  const ms = Date.parse(at);
  return (
    <time dateTime={at} title={`${fullTime(ms)} · ${at}`}>
      {time(ms)}
      {relative && <span class="faint"> {fromNow(ms)}</span>}
    </time>
  );
}
