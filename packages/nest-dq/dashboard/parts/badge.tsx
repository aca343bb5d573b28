import type { ComponentChildren } from 'preact';

/** A state as a word, with a colour next to it. */
export function Badge({
  tone,
  children,
}: {
  readonly tone: 'good' | 'bad' | 'warn' | 'calm' | 'accent';
  readonly children: ComponentChildren;
}) {
  return <span class={`badge ${tone}`}>{children}</span>;
}
