import { count } from '../words/say.js';

/** A number that is quiet if it is zero. */
export function Amount({ of }: { readonly of: number | undefined }) {
  return of ? <>{count(of)}</> : <span class="zero">{count(of)}</span>;
}
